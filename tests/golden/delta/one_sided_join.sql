-- title: left join
-- query: SELECT t.v, u.w FROM t LEFT JOIN u ON t.k = u.k
-- stored as: bag
--   v INT
--   w INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7` FROM `__ps_scan_1` LEFT JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_project_4` AS (
  SELECT `v_3`, `w_7` FROM `__ps_join_3`
)
SELECT `v_3` AS `v`, `w_7` AS `w`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- __ps_step_1: left rows of a left outer join
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_3`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_touched_left_4` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_3` LEFT SEMI JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
)
SELECT `k_1`, `v_3`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_1`
UNION ALL
SELECT `k_1`, `v_3`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_4` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- delta: the consolidated delta
WITH `__ps_scan_5` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_5`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_before_default_u_6`
),
`__ps_right_7` AS (
  SELECT r.`k_5`, r.`w_7`, 1 AS `__ps_end` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 1 AND (l.`k_1` = r.`k_5`)
  UNION ALL
  SELECT r.`k_5`, r.`w_7`, 0 AS `__ps_end` FROM `__ps_scan_6` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 0 AND (l.`k_1` = r.`k_5`)
),
`__ps_join_delta_8` AS (
  SELECT `k_1`, `v_3`, `__ps_weight`, `k_5`, `w_7` FROM `__ps_step_1` AS `__ps_left` LEFT JOIN `__ps_right_7` AS `__ps_right` ON (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND (`k_1` = `k_5`)
),
`__ps_project_9` AS (
  SELECT `v_3`, `w_7`, `__ps_weight` FROM `__ps_join_delta_8`
),
`__ps_net_10` AS (
  SELECT `v_3`, `w_7`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_9` GROUP BY `v_3`, `w_7` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `w_7` AS `w`, `__ps_weight` FROM `__ps_net_10`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v, w in __ps_changed.w
WITH `__ps_together_11` AS (
  SELECT `v`, `w`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`w`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`) AND (s.`w` <=> c.`w`)
),
`__ps_summed_12` AS (
  SELECT `v`, `w`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_11` GROUP BY `v`, `w`
)
SELECT `v`, `w`, `__ps_weight`, `__ps_op` FROM `__ps_summed_12` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: full join
-- query: SELECT t.v, u.w FROM t FULL JOIN u ON t.k = u.k
-- stored as: bag
--   v INT
--   w INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7` FROM `__ps_scan_1` LEFT JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_3`
),
`__ps_join_5` AS (
  SELECT `k_5`, `w_7` FROM `__ps_scan_2` LEFT ANTI JOIN `__ps_scan_4` ON (`k_1` = `k_5`)
),
`__ps_project_6` AS (
  SELECT CAST(NULL AS INT) AS `v_3`, `w_7` FROM `__ps_join_5`
),
`__ps_union_7` AS (
  SELECT `v_3`, `w_7` FROM `__ps_join_3`
  UNION ALL
  SELECT `v_3`, `w_7` FROM `__ps_project_6`
),
`__ps_project_8` AS (
  SELECT `v_3`, `w_7` FROM `__ps_union_7`
)
SELECT `v_3` AS `v`, `w_7` AS `w`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_8`;

-- __ps_step_1: left rows of a left outer join
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_3`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_touched_left_4` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_3` LEFT SEMI JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
)
SELECT `k_1`, `v_3`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_1`
UNION ALL
SELECT `k_1`, `v_3`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_4` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- __ps_step_2: left rows of a left anti join
WITH `__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_before_default_u_6`
),
`__ps_scan_9` AS (
  SELECT `k` AS `k_1`, `__ps_weight` FROM `__ps_changes_default_t_7`
),
`__ps_touched_left_10` AS (
  SELECT `k_5`, `w_7` FROM `__ps_scan_6` LEFT SEMI JOIN `__ps_scan_9` ON (`k_1` = `k_5`)
)
SELECT `k_5`, `w_7`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_2`
UNION ALL
SELECT `k_5`, `w_7`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_10` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- delta: the consolidated delta
WITH `__ps_scan_5` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_5`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_before_default_u_6`
),
`__ps_right_7` AS (
  SELECT r.`k_5`, r.`w_7`, 1 AS `__ps_end` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 1 AND (l.`k_1` = r.`k_5`)
  UNION ALL
  SELECT r.`k_5`, r.`w_7`, 0 AS `__ps_end` FROM `__ps_scan_6` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 0 AND (l.`k_1` = r.`k_5`)
),
`__ps_join_delta_8` AS (
  SELECT `k_1`, `v_3`, `__ps_weight`, `k_5`, `w_7` FROM `__ps_step_1` AS `__ps_left` LEFT JOIN `__ps_right_7` AS `__ps_right` ON (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND (`k_1` = `k_5`)
),
`__ps_scan_11` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_9`
),
`__ps_scan_12` AS (
  SELECT `k` AS `k_1` FROM `__ps_before_default_t_10`
),
`__ps_right_13` AS (
  SELECT r.`k_1`, 1 AS `__ps_end` FROM `__ps_scan_11` r LEFT SEMI JOIN `__ps_step_2` l ON l.`__ps_end` = 1 AND (r.`k_1` = l.`k_5`)
  UNION ALL
  SELECT r.`k_1`, 0 AS `__ps_end` FROM `__ps_scan_12` r LEFT SEMI JOIN `__ps_step_2` l ON l.`__ps_end` = 0 AND (r.`k_1` = l.`k_5`)
),
`__ps_join_delta_14` AS (
  SELECT `k_5`, `w_7`, `__ps_weight` FROM `__ps_step_2` AS `__ps_left` LEFT ANTI JOIN `__ps_right_13` AS `__ps_right` ON (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND (`k_1` = `k_5`)
),
`__ps_project_15` AS (
  SELECT CAST(NULL AS INT) AS `v_3`, `w_7`, `__ps_weight` FROM `__ps_join_delta_14`
),
`__ps_union_16` AS (
  SELECT `v_3`, `w_7`, `__ps_weight` FROM `__ps_join_delta_8`
  UNION ALL
  SELECT `v_3`, `w_7`, `__ps_weight` FROM `__ps_project_15`
),
`__ps_project_17` AS (
  SELECT `v_3`, `w_7`, `__ps_weight` FROM `__ps_union_16`
),
`__ps_net_18` AS (
  SELECT `v_3`, `w_7`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_17` GROUP BY `v_3`, `w_7` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `w_7` AS `w`, `__ps_weight` FROM `__ps_net_18`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v, w in __ps_changed.w
WITH `__ps_together_19` AS (
  SELECT `v`, `w`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`w`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`) AND (s.`w` <=> c.`w`)
),
`__ps_summed_20` AS (
  SELECT `v`, `w`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_19` GROUP BY `v`, `w`
)
SELECT `v`, `w`, `__ps_weight`, `__ps_op` FROM `__ps_summed_20` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: semi join
-- query: SELECT v, g FROM t LEFT SEMI JOIN u ON t.k = u.k
-- stored as: bag
--   v INT
--   g STRING
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `v_3` FROM `__ps_scan_1` LEFT SEMI JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_project_4` AS (
  SELECT `v_3`, `g_2` FROM `__ps_join_3`
)
SELECT `v_3` AS `v`, `g_2` AS `g`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- __ps_step_1: left rows of a left semi join
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_before_default_t_3`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_touched_left_4` AS (
  SELECT `k_1`, `g_2`, `v_3` FROM `__ps_scan_3` LEFT SEMI JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
)
SELECT `k_1`, `g_2`, `v_3`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_1`
UNION ALL
SELECT `k_1`, `g_2`, `v_3`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_4` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- delta: the consolidated delta
WITH `__ps_scan_5` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_5`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5` FROM `__ps_before_default_u_6`
),
`__ps_right_7` AS (
  SELECT r.`k_5`, 1 AS `__ps_end` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 1 AND (l.`k_1` = r.`k_5`)
  UNION ALL
  SELECT r.`k_5`, 0 AS `__ps_end` FROM `__ps_scan_6` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 0 AND (l.`k_1` = r.`k_5`)
),
`__ps_join_delta_8` AS (
  SELECT `k_1`, `g_2`, `v_3`, `__ps_weight` FROM `__ps_step_1` AS `__ps_left` LEFT SEMI JOIN `__ps_right_7` AS `__ps_right` ON (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND (`k_1` = `k_5`)
),
`__ps_project_9` AS (
  SELECT `v_3`, `g_2`, `__ps_weight` FROM `__ps_join_delta_8`
),
`__ps_net_10` AS (
  SELECT `v_3`, `g_2`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_9` GROUP BY `v_3`, `g_2` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `g_2` AS `g`, `__ps_weight` FROM `__ps_net_10`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v, g in __ps_changed.g
WITH `__ps_together_11` AS (
  SELECT `v`, `g`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`g`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`) AND (s.`g` <=> c.`g`)
),
`__ps_summed_12` AS (
  SELECT `v`, `g`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_11` GROUP BY `v`, `g`
)
SELECT `v`, `g`, `__ps_weight`, `__ps_op` FROM `__ps_summed_12` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: not in
-- query: SELECT v, g FROM t WHERE k NOT IN (SELECT k FROM u)
-- stored as: bag
--   v INT
--   g STRING
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `v_3` FROM `__ps_scan_1` LEFT ANTI JOIN `__ps_scan_2` ON ((`k_1` = `k_5`) OR ((`k_1` = `k_5`) IS NULL))
),
`__ps_project_4` AS (
  SELECT `v_3`, `g_2` FROM `__ps_join_3`
)
SELECT `v_3` AS `v`, `g_2` AS `g`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- __ps_step_1: left rows of a left anti join
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_before_default_t_3`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_touched_left_4` AS (
  SELECT `k_1`, `g_2`, `v_3` FROM `__ps_scan_3` LEFT SEMI JOIN `__ps_scan_2` ON ((`k_1` = `k_5`) OR ((`k_1` = `k_5`) IS NULL))
)
SELECT `k_1`, `g_2`, `v_3`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_1`
UNION ALL
SELECT `k_1`, `g_2`, `v_3`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_4` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- delta: the consolidated delta
WITH `__ps_scan_5` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_5`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5` FROM `__ps_before_default_u_6`
),
`__ps_right_7` AS (
  SELECT r.`k_5`, 1 AS `__ps_end` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 1 AND ((l.`k_1` = r.`k_5`) OR ((l.`k_1` = r.`k_5`) IS NULL))
  UNION ALL
  SELECT r.`k_5`, 0 AS `__ps_end` FROM `__ps_scan_6` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 0 AND ((l.`k_1` = r.`k_5`) OR ((l.`k_1` = r.`k_5`) IS NULL))
),
`__ps_join_delta_8` AS (
  SELECT `k_1`, `g_2`, `v_3`, `__ps_weight` FROM `__ps_step_1` AS `__ps_left` LEFT ANTI JOIN `__ps_right_7` AS `__ps_right` ON (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND ((`k_1` = `k_5`) OR ((`k_1` = `k_5`) IS NULL))
),
`__ps_project_9` AS (
  SELECT `v_3`, `g_2`, `__ps_weight` FROM `__ps_join_delta_8`
),
`__ps_net_10` AS (
  SELECT `v_3`, `g_2`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_9` GROUP BY `v_3`, `g_2` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `g_2` AS `g`, `__ps_weight` FROM `__ps_net_10`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v, g in __ps_changed.g
WITH `__ps_together_11` AS (
  SELECT `v`, `g`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`g`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`) AND (s.`g` <=> c.`g`)
),
`__ps_summed_12` AS (
  SELECT `v`, `g`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_11` GROUP BY `v`, `g`
)
SELECT `v`, `g`, `__ps_weight`, `__ps_op` FROM `__ps_summed_12` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);

-- title: existence
-- query: SELECT v, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS exists FROM t
-- stored as: bag
--   v INT
--   exists BOOLEAN
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, EXISTS (SELECT 1 FROM `__ps_scan_2` WHERE (`k_1` = `k_5`)) AS `exists_8` FROM `__ps_scan_1`
),
`__ps_project_4` AS (
  SELECT `v_3`, `exists_8` FROM `__ps_join_3`
)
SELECT `v_3` AS `v`, `exists_8` AS `exists`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_4`;

-- __ps_step_1: left rows of a existence join
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_3`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `__ps_weight` FROM `__ps_changes_default_u_2`
),
`__ps_touched_left_4` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_3` LEFT SEMI JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
)
SELECT `k_1`, `v_3`, `__ps_weight`, 1 AS `__ps_end` FROM `__ps_scan_1`
UNION ALL
SELECT `k_1`, `v_3`, `__ps_weight`, `__ps_end` FROM `__ps_touched_left_4` CROSS JOIN (VALUES (1L, 1), (-1L, 0)) AS e(`__ps_weight`, `__ps_end`);

-- delta: the consolidated delta
WITH `__ps_scan_5` AS (
  SELECT `k` AS `k_5` FROM `__ps_after_default_u_5`
),
`__ps_scan_6` AS (
  SELECT `k` AS `k_5` FROM `__ps_before_default_u_6`
),
`__ps_right_7` AS (
  SELECT r.`k_5`, 1 AS `__ps_end` FROM `__ps_scan_5` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 1 AND (l.`k_1` = r.`k_5`)
  UNION ALL
  SELECT r.`k_5`, 0 AS `__ps_end` FROM `__ps_scan_6` r LEFT SEMI JOIN `__ps_step_1` l ON l.`__ps_end` = 0 AND (l.`k_1` = r.`k_5`)
),
`__ps_join_delta_8` AS (
  SELECT `k_1`, `v_3`, `__ps_weight`, EXISTS (SELECT 1 FROM `__ps_right_7` AS `__ps_right` WHERE (`__ps_left`.`__ps_end` = `__ps_right`.`__ps_end`) AND (`k_1` = `k_5`)) AS `exists_8` FROM `__ps_step_1` AS `__ps_left`
),
`__ps_project_9` AS (
  SELECT `v_3`, `exists_8`, `__ps_weight` FROM `__ps_join_delta_8`
),
`__ps_net_10` AS (
  SELECT `v_3`, `exists_8`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_9` GROUP BY `v_3`, `exists_8` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `v_3` AS `v`, `exists_8` AS `exists`, `__ps_weight` FROM `__ps_net_10`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within v in __ps_changed.v
WITH `__ps_together_11` AS (
  SELECT `v`, `exists`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`v`, s.`exists`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`v` <=> c.`v`) AND (s.`exists` <=> c.`exists`)
),
`__ps_summed_12` AS (
  SELECT `v`, `exists`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_11` GROUP BY `v`, `exists`
)
SELECT `v`, `exists`, `__ps_weight`, `__ps_op` FROM `__ps_summed_12` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
