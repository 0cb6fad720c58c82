-- title: inner join
-- query: SELECT t.v AS x, u.w AS y FROM t JOIN u ON t.k = u.k
-- stored as: bag
--   x INT
--   y INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_project_4` AS (
  SELECT `v_3` AS `x_8`, `w_7` AS `y_9` FROM `__ps_join_3`
)
SELECT `x_8` AS `x`, `y_9` AS `y`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_4`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_3`
),
`__ps_join_6` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7`, `__ps_scan_4`.`__ps_weight`
  FROM `__ps_scan_4`
  JOIN `__ps_scan_5` ON (`k_1` = `k_5`)
),
`__ps_join_7` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7`, `__ps_weight` FROM `__ps_join_3`
  UNION ALL
  SELECT `k_1`, `v_3`, `k_5`, `w_7`, `__ps_weight` FROM `__ps_join_6`
),
`__ps_project_8` AS (
  SELECT `v_3` AS `x_8`, `w_7` AS `y_9`, `__ps_weight` FROM `__ps_join_7`
),
`__ps_net_9` AS (
  SELECT `x_8`, `y_9`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_8` GROUP BY `x_8`, `y_9` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `x_8` AS `x`, `y_9` AS `y`, `__ps_weight` FROM `__ps_net_9`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within x in __ps_changed.x, y in __ps_changed.y
WITH `__ps_together_10` AS (
  SELECT `x`, `y`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`x`, s.`y`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`x` <=> c.`x`) AND (s.`y` <=> c.`y`)
),
`__ps_summed_11` AS (
  SELECT `x`, `y`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_10` GROUP BY `x`, `y`
)
SELECT `x`, `y`, `__ps_weight`, `__ps_op` FROM `__ps_summed_11` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: inner join of four
-- query: SELECT a.v AS x, d.w AS y FROM t AS a JOIN u AS b ON a.k = b.k JOIN t AS c ON b.k = c.k JOIN u AS d ON a.k = d.k
-- stored as: bag
--   x INT
--   y INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_2`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_8` FROM `__ps_after_default_t_3`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_12`, `w` AS `w_14` FROM `__ps_after_default_u_4`
),
`__ps_join_5` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
  JOIN `__ps_scan_3` ON (`k_5` = `k_8`)
  JOIN `__ps_scan_4` ON (`k_1` = `k_12`)
),
`__ps_project_6` AS (
  SELECT `v_3` AS `x_15`, `w_14` AS `y_16` FROM `__ps_join_5`
)
SELECT `x_15` AS `x`, `y_16` AS `y`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_6`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_2`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_8` FROM `__ps_after_default_t_3`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_12`, `w` AS `w_14` FROM `__ps_after_default_u_4`
),
`__ps_join_5` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
  JOIN `__ps_scan_3` ON (`k_5` = `k_8`)
  JOIN `__ps_scan_4` ON (`k_1` = `k_12`)
),
`__ps_scan_7` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_6`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5`, `__ps_weight` FROM `__ps_changes_default_u_5`
),
`__ps_join_8` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_scan_6`.`__ps_weight`
  FROM `__ps_scan_6`
  JOIN `__ps_scan_7` ON (`k_1` = `k_5`)
  JOIN `__ps_scan_3` ON (`k_5` = `k_8`)
  JOIN `__ps_scan_4` ON (`k_1` = `k_12`)
),
`__ps_scan_10` AS (
  SELECT `k` AS `k_5` FROM `__ps_before_default_u_8`
),
`__ps_scan_9` AS (
  SELECT `k` AS `k_8`, `__ps_weight` FROM `__ps_changes_default_t_7`
),
`__ps_join_11` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_scan_9`.`__ps_weight`
  FROM `__ps_scan_9`
  JOIN `__ps_scan_10` ON (`k_5` = `k_8`)
  JOIN `__ps_scan_7` ON (`k_1` = `k_5`)
  JOIN `__ps_scan_4` ON (`k_1` = `k_12`)
),
`__ps_scan_13` AS (
  SELECT `k` AS `k_8` FROM `__ps_before_default_t_10`
),
`__ps_scan_12` AS (
  SELECT `k` AS `k_12`, `w` AS `w_14`, `__ps_weight` FROM `__ps_changes_default_u_9`
),
`__ps_join_14` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_scan_12`.`__ps_weight`
  FROM `__ps_scan_12`
  JOIN `__ps_scan_7` ON (`k_1` = `k_12`)
  JOIN `__ps_scan_10` ON (`k_1` = `k_5`)
  JOIN `__ps_scan_13` ON (`k_5` = `k_8`)
),
`__ps_join_15` AS (
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_weight` FROM `__ps_join_5`
  UNION ALL
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_weight` FROM `__ps_join_8`
  UNION ALL
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_weight` FROM `__ps_join_11`
  UNION ALL
  SELECT `k_1`, `v_3`, `k_5`, `k_8`, `k_12`, `w_14`, `__ps_weight` FROM `__ps_join_14`
),
`__ps_project_16` AS (
  SELECT `v_3` AS `x_15`, `w_14` AS `y_16`, `__ps_weight` FROM `__ps_join_15`
),
`__ps_net_17` AS (
  SELECT `x_15`, `y_16`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_16` GROUP BY `x_15`, `y_16` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `x_15` AS `x`, `y_16` AS `y`, `__ps_weight` FROM `__ps_net_17`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within x in __ps_changed.x, y in __ps_changed.y
WITH `__ps_together_18` AS (
  SELECT `x`, `y`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`x`, s.`y`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`x` <=> c.`x`) AND (s.`y` <=> c.`y`)
),
`__ps_summed_19` AS (
  SELECT `x`, `y`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_18` GROUP BY `x`, `y`
)
SELECT `x`, `y`, `__ps_weight`, `__ps_op` FROM `__ps_summed_19` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: self-join
-- query: SELECT a.g AS x, b.v AS y FROM t AS a JOIN t AS b ON a.k = b.k AND a.v < b.v
-- stored as: bag
--   x STRING
--   y INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `v` AS `v_7` FROM `__ps_after_default_t_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `v_3`, `k_5`, `v_7`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`) AND (`v_3` < `v_7`)
),
`__ps_project_4` AS (
  SELECT `g_2` AS `x_9`, `v_7` AS `y_10` FROM `__ps_join_3`
)
SELECT `x_9` AS `x`, `y_10` AS `y`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `v` AS `v_7` FROM `__ps_after_default_t_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `v_3`, `k_5`, `v_7`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`) AND (`v_3` < `v_7`)
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_before_default_t_4`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `v` AS `v_7`, `__ps_weight` FROM `__ps_changes_default_t_3`
),
`__ps_join_6` AS (
  SELECT `k_1`, `g_2`, `v_3`, `k_5`, `v_7`, `__ps_scan_4`.`__ps_weight`
  FROM `__ps_scan_4`
  JOIN `__ps_scan_5` ON (`k_1` = `k_5`) AND (`v_3` < `v_7`)
),
`__ps_join_7` AS (
  SELECT `k_1`, `g_2`, `v_3`, `k_5`, `v_7`, `__ps_weight` FROM `__ps_join_3`
  UNION ALL
  SELECT `k_1`, `g_2`, `v_3`, `k_5`, `v_7`, `__ps_weight` FROM `__ps_join_6`
),
`__ps_project_8` AS (
  SELECT `g_2` AS `x_9`, `v_7` AS `y_10`, `__ps_weight` FROM `__ps_join_7`
),
`__ps_net_9` AS (
  SELECT `x_9`, `y_10`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_8` GROUP BY `x_9`, `y_10` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `x_9` AS `x`, `y_10` AS `y`, `__ps_weight` FROM `__ps_net_9`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within x in __ps_changed.x, y in __ps_changed.y
WITH `__ps_together_10` AS (
  SELECT `x`, `y`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`x`, s.`y`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`x` <=> c.`x`) AND (s.`y` <=> c.`y`)
),
`__ps_summed_11` AS (
  SELECT `x`, `y`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_10` GROUP BY `x`, `y`
)
SELECT `x`, `y`, `__ps_weight`, `__ps_op` FROM `__ps_summed_11` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: join with an aggregate
-- query: SELECT u.g, x.n FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x JOIN u ON x.k = u.k
-- stored as: bag
--   g STRING
--   n BIGINT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_scan_1` GROUP BY `k_1`
),
`__ps_project_3` AS (
  SELECT `k_1`, `count_5` AS `n_6` FROM `__ps_group_2`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_7`, `g` AS `g_8` FROM `__ps_after_default_u_2`
),
`__ps_join_5` AS (
  SELECT `k_1`, `n_6`, `k_7`, `g_8`
  FROM `__ps_project_3`
  JOIN `__ps_scan_4` ON (`k_1` = `k_7`)
),
`__ps_project_6` AS (
  SELECT `g_8`, `n_6` FROM `__ps_join_5`
)
SELECT `g_8` AS `g`, `n_6` AS `n`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_6`;

-- __ps_step_1: touched groups of aggregate by `k_1`: count(1)
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `k_1` FROM `__ps_scan_1`;

-- delta: the consolidated delta
--   __ps_after_default_t_3 within k in __ps_step_1.k_1
--   __ps_before_default_t_4 within k in __ps_step_1.k_1
WITH `__ps_scan_2` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_3`
),
`__ps_touched_rows_3` AS (
  SELECT r.`k_1` FROM `__ps_scan_2` r LEFT SEMI JOIN `__ps_step_1` k ON (k.`k_1` <=> r.`k_1`)
),
`__ps_group_4` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_touched_rows_3` GROUP BY `k_1`
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1` FROM `__ps_before_default_t_4`
),
`__ps_touched_rows_6` AS (
  SELECT r.`k_1` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` k ON (k.`k_1` <=> r.`k_1`)
),
`__ps_group_7` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_touched_rows_6` GROUP BY `k_1`
),
`__ps_difference_8` AS (
  SELECT `k_1`, `count_5`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_group_4`
  UNION ALL
  SELECT `k_1`, `count_5`, CAST(-1 AS BIGINT) AS `__ps_weight` FROM `__ps_group_7`
),
`__ps_project_9` AS (
  SELECT `k_1`, `count_5` AS `n_6`, `__ps_weight` FROM `__ps_difference_8`
),
`__ps_scan_10` AS (
  SELECT `k` AS `k_7`, `g` AS `g_8` FROM `__ps_after_default_u_5`
),
`__ps_join_11` AS (
  SELECT `k_1`, `n_6`, `k_7`, `g_8`, `__ps_project_9`.`__ps_weight`
  FROM `__ps_project_9`
  JOIN `__ps_scan_10` ON (`k_1` = `k_7`)
),
`__ps_scan_13` AS (
  SELECT `k` AS `k_1` FROM `__ps_before_default_t_7`
),
`__ps_group_14` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_scan_13` GROUP BY `k_1`
),
`__ps_project_15` AS (
  SELECT `k_1`, `count_5` AS `n_6` FROM `__ps_group_14`
),
`__ps_scan_12` AS (
  SELECT `k` AS `k_7`, `g` AS `g_8`, `__ps_weight` FROM `__ps_changes_default_u_6`
),
`__ps_join_16` AS (
  SELECT `k_1`, `n_6`, `k_7`, `g_8`, `__ps_scan_12`.`__ps_weight`
  FROM `__ps_scan_12`
  JOIN `__ps_project_15` ON (`k_1` = `k_7`)
),
`__ps_join_17` AS (
  SELECT `k_1`, `n_6`, `k_7`, `g_8`, `__ps_weight` FROM `__ps_join_11`
  UNION ALL
  SELECT `k_1`, `n_6`, `k_7`, `g_8`, `__ps_weight` FROM `__ps_join_16`
),
`__ps_project_18` AS (
  SELECT `g_8`, `n_6`, `__ps_weight` FROM `__ps_join_17`
),
`__ps_net_19` AS (
  SELECT `g_8`, `n_6`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_18` GROUP BY `g_8`, `n_6` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `g_8` AS `g`, `n_6` AS `n`, `__ps_weight` FROM `__ps_net_19`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within g in __ps_changed.g, n in __ps_changed.n
WITH `__ps_together_20` AS (
  SELECT `g`, `n`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`g`, s.`n`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`g` <=> c.`g`) AND (s.`n` <=> c.`n`)
),
`__ps_summed_21` AS (
  SELECT `g`, `n`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_20` GROUP BY `g`, `n`
)
SELECT `g`, `n`, `__ps_weight`, `__ps_op` FROM `__ps_summed_21` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
