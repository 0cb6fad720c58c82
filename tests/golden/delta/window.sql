-- title: window
-- query: SELECT k, rank() OVER (PARTITION BY g ORDER BY v) AS r FROM t
-- stored as: bag
--   k INT
--   r INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_window_2` AS (
  SELECT `k_1`, `g_2`, `v_3`, RANK() OVER (PARTITION BY `g_2` ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_scan_1`
),
`__ps_project_3` AS (
  SELECT `k_1`, `r_5` FROM `__ps_window_2`
)
SELECT `k_1` AS `k`, `r_5` AS `r`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_3`;

-- __ps_step_1: touched partitions by `g_2`
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `g_2` AS `p0` FROM `__ps_scan_1`;

-- delta: the consolidated delta
--   __ps_after_default_t_3 within g in __ps_step_1.p0
--   __ps_before_default_t_4 within g in __ps_step_1.p0
WITH `__ps_scan_2` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_3`
),
`__ps_touched_rows_3` AS (
  SELECT r.`k_1`, r.`g_2`, r.`v_3` FROM `__ps_scan_2` r LEFT SEMI JOIN `__ps_step_1` k ON (k.`p0` <=> r.`g_2`)
),
`__ps_window_4` AS (
  SELECT `k_1`, `g_2`, `v_3`, RANK() OVER (PARTITION BY `g_2` ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_touched_rows_3`
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_before_default_t_4`
),
`__ps_touched_rows_6` AS (
  SELECT r.`k_1`, r.`g_2`, r.`v_3` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` k ON (k.`p0` <=> r.`g_2`)
),
`__ps_window_7` AS (
  SELECT `k_1`, `g_2`, `v_3`, RANK() OVER (PARTITION BY `g_2` ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_touched_rows_6`
),
`__ps_difference_8` AS (
  SELECT `k_1`, `g_2`, `v_3`, `r_5`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_window_4`
  UNION ALL
  SELECT `k_1`, `g_2`, `v_3`, `r_5`, CAST(-1 AS BIGINT) AS `__ps_weight` FROM `__ps_window_7`
),
`__ps_net_9` AS (
  SELECT `k_1`, `g_2`, `v_3`, `r_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_difference_8` GROUP BY `k_1`, `g_2`, `v_3`, `r_5` HAVING sum(`__ps_weight`) <> 0
),
`__ps_project_10` AS (
  SELECT `k_1`, `r_5`, `__ps_weight` FROM `__ps_net_9`
),
`__ps_net_11` AS (
  SELECT `k_1`, `r_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_10` GROUP BY `k_1`, `r_5` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `k_1` AS `k`, `r_5` AS `r`, `__ps_weight` FROM `__ps_net_11`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within k in __ps_changed.k, r in __ps_changed.r
WITH `__ps_together_12` AS (
  SELECT `k`, `r`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`k`, s.`r`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`k` <=> c.`k`) AND (s.`r` <=> c.`r`)
),
`__ps_summed_13` AS (
  SELECT `k`, `r`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_12` GROUP BY `k`, `r`
)
SELECT `k`, `r`, `__ps_weight`, `__ps_op` FROM `__ps_summed_13` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: window without partitions
-- query: SELECT k, rank() OVER (ORDER BY v) AS r FROM t
-- stored as: bag
--   k INT
--   r INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_window_2` AS (
  SELECT `k_1`, `v_3`, RANK() OVER (ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_scan_1`
),
`__ps_project_3` AS (
  SELECT `k_1`, `r_5` FROM `__ps_window_2`
)
SELECT `k_1` AS `k`, `r_5` AS `r`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_3`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_window_2` AS (
  SELECT `k_1`, `v_3`, RANK() OVER (ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_scan_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_2`
),
`__ps_window_4` AS (
  SELECT `k_1`, `v_3`, RANK() OVER (ORDER BY `v_3` ASC NULLS FIRST) AS `r_5` FROM `__ps_scan_3`
),
`__ps_difference_5` AS (
  SELECT `k_1`, `v_3`, `r_5`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_window_2`
  UNION ALL
  SELECT `k_1`, `v_3`, `r_5`, CAST(-1 AS BIGINT) AS `__ps_weight` FROM `__ps_window_4`
),
`__ps_net_6` AS (
  SELECT `k_1`, `v_3`, `r_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_difference_5` GROUP BY `k_1`, `v_3`, `r_5` HAVING sum(`__ps_weight`) <> 0
),
`__ps_project_7` AS (
  SELECT `k_1`, `r_5`, `__ps_weight` FROM `__ps_net_6`
),
`__ps_net_8` AS (
  SELECT `k_1`, `r_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_7` GROUP BY `k_1`, `r_5` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `k_1` AS `k`, `r_5` AS `r`, `__ps_weight` FROM `__ps_net_8`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within k in __ps_changed.k, r in __ps_changed.r
WITH `__ps_together_9` AS (
  SELECT `k`, `r`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`k`, s.`r`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`k` <=> c.`k`) AND (s.`r` <=> c.`r`)
),
`__ps_summed_10` AS (
  SELECT `k`, `r`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_9` GROUP BY `k`, `r`
)
SELECT `k`, `r`, `__ps_weight`, `__ps_op` FROM `__ps_summed_10` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
