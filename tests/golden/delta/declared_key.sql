-- title: declared key
-- query: SELECT k, count(*) AS n FROM t GROUP BY k
-- stored as: declared key
--   k INT
--   n BIGINT

-- fill: all rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_scan_1` GROUP BY `k_1`
),
`__ps_project_3` AS (
  SELECT `k_1`, `count_5` AS `n_6` FROM `__ps_group_2`
)
SELECT `k_1` AS `k`, `n_6` AS `n` FROM `__ps_project_3`;

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
`__ps_net_10` AS (
  SELECT `k_1`, `n_6`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_project_9` GROUP BY `k_1`, `n_6` HAVING sum(`__ps_weight`) <> 0
)
SELECT `k_1` AS `k`, `n_6` AS `n`, `__ps_weight` FROM `__ps_net_10`;

-- settle: the row that each touched key is left with
--   __ps_stored within k in __ps_changed.k
WITH `__ps_keys_11` AS (
  SELECT DISTINCT `k` FROM `__ps_changed`
),
`__ps_held_12` AS (
  SELECT s.`k`, s.`n` FROM `__ps_stored` s LEFT SEMI JOIN `__ps_keys_11` k ON (s.`k` <=> k.`k`)
),
`__ps_total_13` AS (
  SELECT `k`, `n`, sum(`__ps_weight`) AS `__ps_weight`, sum(`__ps_was`) AS `__ps_was` FROM (
  SELECT `k`, `n`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM (SELECT `k`, `n`, `__ps_weight` FROM `__ps_changed`)
  UNION ALL
  SELECT `k`, `n`, CAST(1 AS BIGINT), CAST(1 AS BIGINT) FROM `__ps_held_12`) GROUP BY `k`, `n`
),
`__ps_per_key_14` AS (
  SELECT *, sum(`__ps_weight`) OVER (PARTITION BY `k`) AS `__ps_rows`, min(`__ps_weight`) OVER (PARTITION BY `k`) AS `__ps_least`, sum(`__ps_was`) OVER (PARTITION BY `k`) AS `__ps_had`, max(CASE WHEN `__ps_weight` = 1 AND `__ps_was` = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY `k`) AS `__ps_kept` FROM `__ps_total_13`
)
SELECT `k`, `n`, CASE WHEN `__ps_least` < 0 THEN '!' WHEN `__ps_rows` > 1 THEN '*' WHEN `__ps_weight` = 1 THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN `__ps_weight` = 1 THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN `__ps_had` > 0 THEN 1L ELSE 0L END AS `__ps_minus` FROM `__ps_per_key_14`
WHERE `__ps_rows` > 1 OR `__ps_least` < 0 OR (`__ps_rows` = 1 AND `__ps_weight` = 1 AND `__ps_kept` = 0) OR (`__ps_rows` = 0 AND `__ps_was` > 0);
