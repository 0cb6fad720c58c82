-- title: filter and project
-- query: SELECT k, v + 1 AS x FROM t WHERE v > 2
-- stored as: bag
--   k INT
--   x INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_filter_2` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_1` WHERE (`v_3` > 2)
),
`__ps_project_3` AS (
  SELECT `k_1`, (`v_3` + 1) AS `x_5` FROM `__ps_filter_2`
)
SELECT `k_1` AS `k`, `x_5` AS `x`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_3`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_filter_2` AS (
  SELECT `k_1`, `v_3`, `__ps_weight` FROM `__ps_scan_1` WHERE (`v_3` > 2)
),
`__ps_project_3` AS (
  SELECT `k_1`, (`v_3` + 1) AS `x_5`, `__ps_weight` FROM `__ps_filter_2`
),
`__ps_net_4` AS (
  SELECT `k_1`, `x_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_3` GROUP BY `k_1`, `x_5` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `k_1` AS `k`, `x_5` AS `x`, `__ps_weight` FROM `__ps_net_4`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within k in __ps_changed.k, x in __ps_changed.x
WITH `__ps_together_5` AS (
  SELECT `k`, `x`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`k`, s.`x`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`k` <=> c.`k`) AND (s.`x` <=> c.`x`)
),
`__ps_summed_6` AS (
  SELECT `k`, `x`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_5` GROUP BY `k`, `x`
)
SELECT `k`, `x`, `__ps_weight`, `__ps_op` FROM `__ps_summed_6` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: union all
-- query: SELECT k, v AS n FROM t UNION ALL SELECT k, w FROM u
-- stored as: bag
--   k INT
--   n INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_project_2` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_project_4` AS (
  SELECT `k_5`, `w_7` FROM `__ps_scan_3`
),
`__ps_union_5` AS (
  SELECT `k_1` AS `k_8`, `v_3` AS `n_9` FROM `__ps_project_2`
  UNION ALL
  SELECT `k_5` AS `k_8`, `w_7` AS `n_9` FROM `__ps_project_4`
)
SELECT `k_8` AS `k`, `n_9` AS `n`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_union_5`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_project_2` AS (
  SELECT `k_1`, `v_3`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_project_4` AS (
  SELECT `k_5`, `w_7`, `__ps_weight` FROM `__ps_scan_3`
),
`__ps_union_5` AS (
  SELECT `k_1` AS `k_8`, `v_3` AS `n_9`, `__ps_weight` FROM `__ps_project_2`
  UNION ALL
  SELECT `k_5` AS `k_8`, `w_7` AS `n_9`, `__ps_weight` FROM `__ps_project_4`
),
`__ps_net_6` AS (
  SELECT `k_8`, `n_9`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_union_5` GROUP BY `k_8`, `n_9` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `k_8` AS `k`, `n_9` AS `n`, `__ps_weight` FROM `__ps_net_6`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within k in __ps_changed.k, n in __ps_changed.n
WITH `__ps_together_7` AS (
  SELECT `k`, `n`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`k`, s.`n`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`k` <=> c.`k`) AND (s.`n` <=> c.`n`)
),
`__ps_summed_8` AS (
  SELECT `k`, `n`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_7` GROUP BY `k`, `n`
)
SELECT `k`, `n`, `__ps_weight`, `__ps_op` FROM `__ps_summed_8` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
