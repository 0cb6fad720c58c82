-- title: aggregate over aggregate
-- query: SELECT n, count(*) AS ks FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x GROUP BY n
-- stored as: folded groups
--   n BIGINT
--   ks BIGINT
--   __ps_count BIGINT
--   __ps_s0_n BIGINT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_scan_1` GROUP BY `k_1`
),
`__ps_project_3` AS (
  SELECT `count_5` AS `n_6` FROM `__ps_group_2`
),
`__ps_group_4` AS (
  SELECT `n_6` AS `n_6`, count(1) AS `count_7`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n` FROM `__ps_project_3` GROUP BY `n_6`
),
`__ps_row_5` AS (
  SELECT `n_6`, `count_7`, `__ps_count`, `__ps_s0_n`, TRUE AS `__ps_shown` FROM `__ps_group_4`
),
`__ps_row_6` AS (
  SELECT `n_6` AS `n_6`, `count_7` AS `ks_8`, `__ps_count`, `__ps_s0_n`, `__ps_shown` FROM `__ps_row_5`
),
`__ps_stored_row_7` AS (
  SELECT `n_6` AS `n`, `ks_8` AS `ks`, `__ps_count`, `__ps_s0_n` FROM `__ps_row_6`
)
SELECT `n`, `ks`, `__ps_count`, `__ps_s0_n` FROM `__ps_stored_row_7`;

-- __ps_step_1: touched groups of aggregate by `k_1`: count(1)
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `k_1` FROM `__ps_scan_1`;

-- fold: stored groups with the delta folded in
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
  SELECT `count_5` AS `n_6`, `__ps_weight` FROM `__ps_difference_8`
),
`__ps_arguments_10` AS (
  SELECT `n_6` AS `n_6`, CASE WHEN TRUE THEN 1 END AS `__ps_x0`, `__ps_weight` FROM `__ps_project_9`
),
`__ps_summed_11` AS (
  SELECT `n_6`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n` FROM `__ps_arguments_10` GROUP BY `n_6`
),
`__ps_folded_12` AS (
  SELECT d.`n_6`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, FALSE AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`n` AS `__ps_o0`, o.`ks` AS `__ps_o1`, o.`__ps_count` AS `__ps_o2`, o.`__ps_s0_n` AS `__ps_o3` FROM `__ps_summed_11` d LEFT JOIN `__ps_stored` o ON (d.`n_6` <=> o.`n`)
),
`__ps_valued_13` AS (
  SELECT `n_6`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s0_n` END AS BIGINT) AS `count_7`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3` FROM `__ps_folded_12` f
),
`__ps_row_14` AS (
  SELECT `n_6`, `count_7`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_13`
),
`__ps_row_15` AS (
  SELECT `n_6` AS `n_6`, `count_7` AS `ks_8`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_shown` FROM `__ps_row_14`
),
`__ps_stored_row_16` AS (
  SELECT `n_6` AS `n`, `ks_8` AS `ks`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3` FROM `__ps_row_15`
)
SELECT `n`, `ks`, `__ps_count`, `__ps_s0_n`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`n` <=> `__ps_o0`) AND (`ks` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`n` <=> `__ps_o0`) AND (`ks` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_16`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`n` <=> `__ps_o0`) AND (`ks` <=> `__ps_o1`) AND (`__ps_count` <=> `__ps_o2`) AND (`__ps_s0_n` <=> `__ps_o3`)));

-- recompute: touched groups computed anew
--   __ps_stored_within_7 within n in __ps_changed.n
WITH `__ps_scan_18` AS (
  SELECT `k` AS `k_1` FROM `__ps_after_default_t_8`
),
`__ps_group_19` AS (
  SELECT `k_1`, count(1) AS `count_5` FROM `__ps_scan_18` GROUP BY `k_1`
),
`__ps_project_20` AS (
  SELECT `count_5` AS `n_6` FROM `__ps_group_19`
),
`__ps_stale_17` AS (
  SELECT `n` AS `n_6` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_21` AS (
  SELECT r.`n_6` FROM `__ps_project_20` r LEFT SEMI JOIN `__ps_stale_17` k ON (k.`n_6` <=> r.`n_6`)
),
`__ps_group_22` AS (
  SELECT `n_6` AS `n_6`, count(1) AS `count_7`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n` FROM `__ps_touched_rows_21` GROUP BY `n_6`
),
`__ps_row_23` AS (
  SELECT `n_6`, `count_7`, `__ps_count`, `__ps_s0_n`, TRUE AS `__ps_shown` FROM `__ps_group_22`
),
`__ps_row_24` AS (
  SELECT `n_6` AS `n_6`, `count_7` AS `ks_8`, `__ps_count`, `__ps_s0_n`, `__ps_shown` FROM `__ps_row_23`
),
`__ps_stored_row_25` AS (
  SELECT `n_6` AS `n`, `ks_8` AS `ks`, `__ps_count`, `__ps_s0_n` FROM `__ps_row_24`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`n` ELSE o.`n` END AS `n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`ks` ELSE o.`ks` END AS `ks`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`n` <=> o.`n`) AND (n.`ks` <=> o.`ks`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`n` <=> o.`n`) AND (n.`ks` <=> o.`ks`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_17` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_25`) n ON (t.`n_6` <=> n.`n`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_7`) o ON (t.`n_6` <=> o.`n`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`n` <=> o.`n`) AND (n.`ks` <=> o.`ks`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: distinct
-- query: SELECT DISTINCT g, k FROM t
-- stored as: folded groups
--   g STRING
--   k INT
--   __ps_count BIGINT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_1`
),
`__ps_project_2` AS (
  SELECT `g_2`, `k_1` FROM `__ps_scan_1`
),
`__ps_group_3` AS (
  SELECT `g_2` AS `g_2`, `k_1` AS `k_1`, count(*) AS `__ps_count` FROM `__ps_project_2` GROUP BY `g_2`, `k_1`
),
`__ps_row_4` AS (
  SELECT `g_2`, `k_1`, `__ps_count`, TRUE AS `__ps_shown` FROM `__ps_group_3`
),
`__ps_stored_row_5` AS (
  SELECT `g_2` AS `g`, `k_1` AS `k`, `__ps_count` FROM `__ps_row_4`
)
SELECT `g`, `k`, `__ps_count` FROM `__ps_stored_row_5`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_project_2` AS (
  SELECT `g_2`, `k_1`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_arguments_3` AS (
  SELECT `g_2` AS `g_2`, `k_1` AS `k_1`, `__ps_weight` FROM `__ps_project_2`
),
`__ps_summed_4` AS (
  SELECT `g_2`, `k_1`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count` FROM `__ps_arguments_3` GROUP BY `g_2`, `k_1`
),
`__ps_folded_5` AS (
  SELECT d.`g_2`, d.`k_1`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, FALSE AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`k` AS `__ps_o1`, o.`__ps_count` AS `__ps_o2` FROM `__ps_summed_4` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`) AND (d.`k_1` <=> o.`k`)
),
`__ps_valued_6` AS (
  SELECT `g_2`, `k_1`, `__ps_count`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2` FROM `__ps_folded_5` f
),
`__ps_row_7` AS (
  SELECT `g_2`, `k_1`, `__ps_count`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_6`
),
`__ps_stored_row_8` AS (
  SELECT `g_2` AS `g`, `k_1` AS `k`, `__ps_count`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2` FROM `__ps_row_7`
)
SELECT `g`, `k`, `__ps_count`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`k` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`k` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_8`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`k` <=> `__ps_o1`) AND (`__ps_count` <=> `__ps_o2`)));

-- recompute: touched groups computed anew
--   __ps_after_default_t_5 within g in __ps_changed.g, k in __ps_changed.k
--   __ps_stored_within_4 within g in __ps_changed.g, k in __ps_changed.k
WITH `__ps_scan_10` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_5`
),
`__ps_project_11` AS (
  SELECT `g_2`, `k_1` FROM `__ps_scan_10`
),
`__ps_stale_9` AS (
  SELECT `g` AS `g_2`, `k` AS `k_1` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_12` AS (
  SELECT r.`g_2`, r.`k_1` FROM `__ps_project_11` r LEFT SEMI JOIN `__ps_stale_9` k ON (k.`g_2` <=> r.`g_2`) AND (k.`k_1` <=> r.`k_1`)
),
`__ps_group_13` AS (
  SELECT `g_2` AS `g_2`, `k_1` AS `k_1`, count(*) AS `__ps_count` FROM `__ps_touched_rows_12` GROUP BY `g_2`, `k_1`
),
`__ps_row_14` AS (
  SELECT `g_2`, `k_1`, `__ps_count`, TRUE AS `__ps_shown` FROM `__ps_group_13`
),
`__ps_stored_row_15` AS (
  SELECT `g_2` AS `g`, `k_1` AS `k`, `__ps_count` FROM `__ps_row_14`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`k` ELSE o.`k` END AS `k`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`k` <=> o.`k`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`k` <=> o.`k`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_9` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_15`) n ON (t.`g_2` <=> n.`g`) AND (t.`k_1` <=> n.`k`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_4`) o ON (t.`g_2` <=> o.`g`) AND (t.`k_1` <=> o.`k`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`k` <=> o.`k`) AND (n.`__ps_count` <=> o.`__ps_count`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));
