-- title: recomputed groups
-- query: SELECT g, count(DISTINCT v) AS n FROM t GROUP BY g
-- stored as: recomputed groups
--   g STRING
--   n BIGINT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `g_2` AS `g_2`, count(DISTINCT `v_3`) AS `count_5` FROM `__ps_scan_1` GROUP BY `g_2`
),
`__ps_row_3` AS (
  SELECT `g_2`, `count_5`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `g_2` AS `g_2`, `count_5` AS `n_6`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `g_2` AS `g`, `n_6` AS `n` FROM `__ps_row_4`
)
SELECT `g`, `n` FROM `__ps_stored_row_5`;

-- __ps_step_1: touched groups of aggregate by `g_2`: count(DISTINCT `v_3`)
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `g_2` FROM `__ps_scan_1`;

-- recompute: touched groups computed anew
--   __ps_after_default_t_4 within g in __ps_step_1.g_2
--   __ps_stored within g in __ps_step_1.g_2
WITH `__ps_scan_2` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_4`
),
`__ps_touched_rows_3` AS (
  SELECT r.`g_2`, r.`v_3` FROM `__ps_scan_2` r LEFT SEMI JOIN `__ps_step_1` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_4` AS (
  SELECT `g_2` AS `g_2`, count(DISTINCT `v_3`) AS `count_5` FROM `__ps_touched_rows_3` GROUP BY `g_2`
),
`__ps_row_5` AS (
  SELECT `g_2`, `count_5`, TRUE AS `__ps_shown` FROM `__ps_group_4`
),
`__ps_row_6` AS (
  SELECT `g_2` AS `g_2`, `count_5` AS `n_6`, `__ps_shown` FROM `__ps_row_5`
),
`__ps_stored_row_7` AS (
  SELECT `g_2` AS `g`, `n_6` AS `n` FROM `__ps_row_6`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`n` ELSE o.`n` END AS `n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`n` <=> o.`n`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`n` <=> o.`n`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_step_1` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_7`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`n` <=> o.`n`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: global aggregate, recomputed
-- query: SELECT median(v) FROM t
-- stored as: recomputed groups
--   c0 DOUBLE

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT median(`v_3`) AS `median_5` FROM `__ps_scan_1`
),
`__ps_row_3` AS (
  SELECT `median_5`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `median_5` AS `c0_6`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `c0_6` AS `c0` FROM `__ps_row_4`
)
SELECT `c0` FROM `__ps_stored_row_5`;

-- recompute: touched groups computed anew
WITH `__ps_scan_2` AS (
  SELECT `v` AS `v_3` FROM `__ps_after_default_t_3`
),
`__ps_group_3` AS (
  SELECT median(`v_3`) AS `median_5` FROM `__ps_scan_2`
),
`__ps_row_4` AS (
  SELECT `median_5`, TRUE AS `__ps_shown` FROM `__ps_group_3`
),
`__ps_row_5` AS (
  SELECT `median_5` AS `c0_6`, `__ps_shown` FROM `__ps_row_4`
),
`__ps_stored_row_6` AS (
  SELECT `c0_6` AS `c0` FROM `__ps_row_5`
)
SELECT CASE WHEN coalesce(TRUE, FALSE) THEN n.`c0` ELSE o.`c0` END AS `c0`, CASE WHEN coalesce(TRUE, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(TRUE, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND ((CAST(n.`c0` AS STRING) <=> CAST(o.`c0` AS STRING)) AND (n.`c0` <=> o.`c0`))) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND ((CAST(n.`c0` AS STRING) <=> CAST(o.`c0` AS STRING)) AND (n.`c0` <=> o.`c0`))) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stored_row_6` n LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored`) o ON TRUE
WHERE (coalesce(TRUE, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND ((CAST(n.`c0` AS STRING) <=> CAST(o.`c0` AS STRING)) AND (n.`c0` <=> o.`c0`)))) OR (NOT coalesce(TRUE, FALSE) AND coalesce(o.`__ps_there`, FALSE));
