-- title: condition on the clock
-- query: SELECT k FROM t WHERE v > year(current_timestamp())
-- stored as: bag
--   k INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_clock_2` AS (
  SELECT `__ps_now` AS `now_5` FROM `__ps_clock_after_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `now_5`
  FROM `__ps_scan_1`
  JOIN `__ps_clock_2` ON (`v_3` > year(`now_5`))
),
`__ps_project_4` AS (
  SELECT `k_1` FROM `__ps_join_3`
)
SELECT `k_1` AS `k`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_clock_2` AS (
  SELECT `__ps_now` AS `now_5` FROM `__ps_clock_after_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `now_5`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_clock_2` ON (`v_3` > year(`now_5`))
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_4`
),
`__ps_clock_4` AS (
  SELECT `__ps_now` AS `now_5`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_clock_after_2`
  UNION ALL
  SELECT `__ps_now`, CAST(-1 AS BIGINT) FROM `__ps_clock_before_3`
),
`__ps_join_6` AS (
  SELECT `k_1`, `v_3`, `now_5`, `__ps_clock_4`.`__ps_weight`
  FROM `__ps_clock_4`
  JOIN `__ps_scan_5` ON (`v_3` > year(`now_5`))
),
`__ps_join_7` AS (
  SELECT `k_1`, `v_3`, `now_5`, `__ps_weight` FROM `__ps_join_3`
  UNION ALL
  SELECT `k_1`, `v_3`, `now_5`, `__ps_weight` FROM `__ps_join_6`
),
`__ps_project_8` AS (
  SELECT `k_1`, `__ps_weight` FROM `__ps_join_7`
),
`__ps_net_9` AS (
  SELECT `k_1`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_8` GROUP BY `k_1` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `k_1` AS `k`, `__ps_weight` FROM `__ps_net_9`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within k in __ps_changed.k
WITH `__ps_together_10` AS (
  SELECT `k`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`k`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`k` <=> c.`k`)
),
`__ps_summed_11` AS (
  SELECT `k`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_10` GROUP BY `k`
)
SELECT `k`, `__ps_weight`, `__ps_op` FROM `__ps_summed_11` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: join with constant rows
-- query: SELECT t.v FROM t JOIN VALUES (1), (2) AS v(one) ON t.k = v.one
-- stored as: bag
--   v INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_constant_2` AS (
  SELECT `c0` AS `one_5` FROM (VALUES (1), (2)) AS v(`c0`)
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `one_5`
  FROM `__ps_scan_1`
  JOIN `__ps_constant_2` ON (`k_1` = `one_5`)
),
`__ps_project_4` AS (
  SELECT `v_3` FROM `__ps_join_3`
)
SELECT `v_3` AS `v`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_constant_2` AS (
  SELECT `c0` AS `one_5` FROM (VALUES (1), (2)) AS v(`c0`)
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `one_5`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_constant_2` ON (`k_1` = `one_5`)
),
`__ps_project_4` AS (
  SELECT `v_3`, `__ps_weight` FROM `__ps_join_3`
),
`__ps_net_5` AS (
  SELECT `v_3`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_4` GROUP BY `v_3` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `__ps_weight` FROM `__ps_net_5`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v
WITH `__ps_together_6` AS (
  SELECT `v`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`)
),
`__ps_summed_7` AS (
  SELECT `v`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_6` GROUP BY `v`
)
SELECT `v`, `__ps_weight`, `__ps_op` FROM `__ps_summed_7` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
