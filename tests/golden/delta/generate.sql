-- title: generate
-- query: SELECT g, e FROM t LATERAL VIEW OUTER explode(array(k, v)) AS e
-- stored as: bag
--   g STRING
--   e INT
--   __ps_weight BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_generate_2` AS (
  SELECT `k_1`, `g_2`, `v_3`, `e_5` FROM `__ps_scan_1` LATERAL VIEW OUTER explode(array(`k_1`, `v_3`)) g AS `e_5`
),
`__ps_project_3` AS (
  SELECT `g_2`, `e_5` FROM `__ps_generate_2`
)
SELECT `g_2` AS `g`, `e_5` AS `e`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_project_3`;

-- delta: the consolidated delta
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_generate_2` AS (
  SELECT `k_1`, `g_2`, `v_3`, `e_5`, `__ps_weight` FROM `__ps_scan_1` LATERAL VIEW OUTER explode(array(`k_1`, `v_3`)) g AS `e_5`
),
`__ps_project_3` AS (
  SELECT `g_2`, `e_5`, `__ps_weight` FROM `__ps_generate_2`
),
`__ps_net_4` AS (
  SELECT `g_2`, `e_5`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_3` GROUP BY `g_2`, `e_5` HAVING sum(`__ps_weight`) <> 0
)
SELECT *, 'i' AS `__ps_op`, greatest(`__ps_weight`, 0) AS `__ps_plus`, greatest(-`__ps_weight`, 0) AS `__ps_minus` FROM (
SELECT `g_2` AS `g`, `e_5` AS `e`, `__ps_weight` FROM `__ps_net_4`
);

-- resum: new multiplicities of the touched values
--   __ps_stored within g in __ps_changed.g, e in __ps_changed.e
WITH `__ps_together_5` AS (
  SELECT `g`, `e`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT s.`g`, s.`e`, s.`__ps_weight`, s.`__ps_weight` FROM `__ps_stored` s LEFT SEMI JOIN (SELECT * FROM `__ps_changed` WHERE `__ps_weight` < 0) c ON (s.`g` <=> c.`g`) AND (s.`e` <=> c.`e`)
),
`__ps_summed_6` AS (
  SELECT `g`, `e`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_5` GROUP BY `g`, `e`
)
SELECT `g`, `e`, `__ps_weight`, `__ps_op` FROM `__ps_summed_6` CROSS JOIN (VALUES ('!'), ('d'), ('i')) AS o(`__ps_op`)
WHERE (`__ps_op` = '!' AND `__ps_weight` < 0) OR (`__ps_op` = 'd' AND `__ps_was` > 0 AND `__ps_weight` >= 0) OR (`__ps_op` = 'i' AND `__ps_weight` > 0);
