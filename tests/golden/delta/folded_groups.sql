-- title: folded groups
-- query: SELECT g, count(*), count(v), sum(v), avg(v), sum(d) FROM t GROUP BY g
-- stored as: folded groups
--   g STRING
--   c0 BIGINT
--   c1 BIGINT
--   c2 BIGINT
--   c3 DOUBLE
--   c4 DECIMAL(18,2)
--   __ps_count BIGINT
--   __ps_s0_n BIGINT
--   __ps_s1_n BIGINT
--   __ps_s2_n BIGINT
--   __ps_s2_s DECIMAL(38,0)
--   __ps_s3_n BIGINT
--   __ps_s3_s DECIMAL(38,0)
--   __ps_s3_b DECIMAL(38,0)
--   __ps_s4_n BIGINT
--   __ps_s4_s DECIMAL(37,2)

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `g_2` AS `g_2`, count(1) AS `count_5`, count(`v_3`) AS `count_6`, sum(`v_3`) AS `sum_7`, avg(`v_3`) AS `average_8`, sum(`d_4`) AS `sum_9`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n`, CAST(count(CASE WHEN `v_3` IS NOT NULL THEN 1 END) AS BIGINT) AS `__ps_s1_n`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s2_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s2_s`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s3_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s3_s`, CAST(coalesce(sum(abs(CAST(`v_3` AS DECIMAL(38,0)))), 0) AS DECIMAL(38,0)) AS `__ps_s3_b`, CAST(count(`d_4`) AS BIGINT) AS `__ps_s4_n`, CAST(coalesce(sum(CAST(`d_4` AS DECIMAL(37,2))), 0) AS DECIMAL(37,2)) AS `__ps_s4_s` FROM `__ps_scan_1` GROUP BY `g_2`
),
`__ps_row_3` AS (
  SELECT `g_2`, `count_5`, `count_6`, `sum_7`, `average_8`, `sum_9`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `g_2` AS `g_2`, `count_5` AS `c0_10`, `count_6` AS `c1_11`, `sum_7` AS `c2_12`, `average_8` AS `c3_13`, `sum_9` AS `c4_14`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `g_2` AS `g`, `c0_10` AS `c0`, `c1_11` AS `c1`, `c2_12` AS `c2`, `c3_13` AS `c3`, `c4_14` AS `c4`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s` FROM `__ps_row_4`
)
SELECT `g`, `c0`, `c1`, `c2`, `c3`, `c4`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s` FROM `__ps_stored_row_5`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT `g_2` AS `g_2`, CASE WHEN TRUE THEN 1 END AS `__ps_x0`, CASE WHEN `v_3` IS NOT NULL THEN 1 END AS `__ps_x1`, `v_3` AS `__ps_x2`, `v_3` AS `__ps_x3`, `d_4` AS `__ps_x4`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_summed_3` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n`, coalesce(sum(CASE WHEN `__ps_x1` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d1_n`, coalesce(sum(CASE WHEN `__ps_x2` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d2_n`, coalesce(CAST(sum(CAST(`__ps_x2` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d2_s`, coalesce(sum(CASE WHEN `__ps_x3` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d3_n`, coalesce(CAST(sum(CAST(`__ps_x3` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d3_s`, coalesce(CAST(sum(CAST(abs(CAST(`__ps_x3` AS DECIMAL(19,0))) AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d3_b`, coalesce(sum(CASE WHEN `__ps_x4` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d4_n`, coalesce(CAST(sum(CASE `__ps_weight` WHEN 1 THEN `__ps_x4` WHEN -1 THEN -(`__ps_x4`) ELSE (`__ps_x4`) * CAST(IF(abs(`__ps_weight`) > 999999999, raise_error('weight out of range'), `__ps_weight`) AS DECIMAL(9,0)) END) AS DECIMAL(37,2)), 0) AS `__ps_d4_s` FROM `__ps_arguments_2` GROUP BY `g_2`
),
`__ps_folded_4` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(o.`__ps_s1_n`, 0) + d.`__ps_d1_n` AS BIGINT) AS `__ps_s1_n`, CAST(coalesce(o.`__ps_s2_n`, 0) + d.`__ps_d2_n` AS BIGINT) AS `__ps_s2_n`, CAST(coalesce(o.`__ps_s2_s`, 0) + d.`__ps_d2_s` AS DECIMAL(38,0)) AS `__ps_s2_s`, CAST(coalesce(o.`__ps_s3_n`, 0) + d.`__ps_d3_n` AS BIGINT) AS `__ps_s3_n`, CAST(coalesce(o.`__ps_s3_s`, 0) + d.`__ps_d3_s` AS DECIMAL(38,0)) AS `__ps_s3_s`, CAST(coalesce(o.`__ps_s3_b`, 0) + d.`__ps_d3_b` AS DECIMAL(38,0)) AS `__ps_s3_b`, CAST(coalesce(o.`__ps_s4_n`, 0) + d.`__ps_d4_n` AS BIGINT) AS `__ps_s4_n`, CAST(coalesce(o.`__ps_s4_s`, 0) + d.`__ps_d4_s` AS DECIMAL(37,2)) AS `__ps_s4_s`, coalesce(coalesce(o.`__ps_s3_b`, 0) + d.`__ps_d3_b` >= 9007199254740992, FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`c0` AS `__ps_o1`, o.`c1` AS `__ps_o2`, o.`c2` AS `__ps_o3`, o.`c3` AS `__ps_o4`, o.`c4` AS `__ps_o5`, o.`__ps_count` AS `__ps_o6`, o.`__ps_s0_n` AS `__ps_o7`, o.`__ps_s1_n` AS `__ps_o8`, o.`__ps_s2_n` AS `__ps_o9`, o.`__ps_s2_s` AS `__ps_o10`, o.`__ps_s3_n` AS `__ps_o11`, o.`__ps_s3_s` AS `__ps_o12`, o.`__ps_s3_b` AS `__ps_o13`, o.`__ps_s4_n` AS `__ps_o14`, o.`__ps_s4_s` AS `__ps_o15` FROM `__ps_summed_3` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
),
`__ps_valued_5` AS (
  SELECT `g_2`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s0_n` END AS BIGINT) AS `count_5`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s1_n` END AS BIGINT) AS `count_6`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN CASE WHEN f.`__ps_s2_n` > 0 THEN CAST(f.`__ps_s2_s` AS BIGINT) END END AS BIGINT) AS `sum_7`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN CASE WHEN f.`__ps_s3_n` > 0 THEN CAST(f.`__ps_s3_s` AS DOUBLE) / CAST(f.`__ps_s3_n` AS DOUBLE) END END AS DOUBLE) AS `average_8`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN CASE WHEN f.`__ps_s4_n` > 0 THEN CAST(f.`__ps_s4_s` AS DECIMAL(18,2)) END END AS DECIMAL(18,2)) AS `sum_9`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, `__ps_o9`, `__ps_o10`, `__ps_o11`, `__ps_o12`, `__ps_o13`, `__ps_o14`, `__ps_o15` FROM `__ps_folded_4` f
),
`__ps_row_6` AS (
  SELECT `g_2`, `count_5`, `count_6`, `sum_7`, `average_8`, `sum_9`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, `__ps_o9`, `__ps_o10`, `__ps_o11`, `__ps_o12`, `__ps_o13`, `__ps_o14`, `__ps_o15`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_5`
),
`__ps_row_7` AS (
  SELECT `g_2` AS `g_2`, `count_5` AS `c0_10`, `count_6` AS `c1_11`, `sum_7` AS `c2_12`, `average_8` AS `c3_13`, `sum_9` AS `c4_14`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, `__ps_o9`, `__ps_o10`, `__ps_o11`, `__ps_o12`, `__ps_o13`, `__ps_o14`, `__ps_o15`, `__ps_shown` FROM `__ps_row_6`
),
`__ps_stored_row_8` AS (
  SELECT `g_2` AS `g`, `c0_10` AS `c0`, `c1_11` AS `c1`, `c2_12` AS `c2`, `c3_13` AS `c3`, `c4_14` AS `c4`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, `__ps_o9`, `__ps_o10`, `__ps_o11`, `__ps_o12`, `__ps_o13`, `__ps_o14`, `__ps_o15` FROM `__ps_row_7`
)
SELECT `g`, `c0`, `c1`, `c2`, `c3`, `c4`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`) AND (`c2` <=> `__ps_o3`) AND ((CAST(`c3` AS STRING) <=> CAST(`__ps_o4` AS STRING)) AND (`c3` <=> `__ps_o4`)) AND (`c4` <=> `__ps_o5`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`) AND (`c2` <=> `__ps_o3`) AND ((CAST(`c3` AS STRING) <=> CAST(`__ps_o4` AS STRING)) AND (`c3` <=> `__ps_o4`)) AND (`c4` <=> `__ps_o5`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_8`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`) AND (`c2` <=> `__ps_o3`) AND ((CAST(`c3` AS STRING) <=> CAST(`__ps_o4` AS STRING)) AND (`c3` <=> `__ps_o4`)) AND (`c4` <=> `__ps_o5`) AND (`__ps_count` <=> `__ps_o6`) AND (`__ps_s0_n` <=> `__ps_o7`) AND (`__ps_s1_n` <=> `__ps_o8`) AND (`__ps_s2_n` <=> `__ps_o9`) AND (`__ps_s2_s` <=> `__ps_o10`) AND (`__ps_s3_n` <=> `__ps_o11`) AND (`__ps_s3_s` <=> `__ps_o12`) AND (`__ps_s3_b` <=> `__ps_o13`) AND (`__ps_s4_n` <=> `__ps_o14`) AND (`__ps_s4_s` <=> `__ps_o15`)));

-- recompute: touched groups computed anew
--   __ps_after_default_t_5 within g in __ps_changed.g
--   __ps_stored_within_4 within g in __ps_changed.g
WITH `__ps_scan_10` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4` FROM `__ps_after_default_t_5`
),
`__ps_stale_9` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_11` AS (
  SELECT r.`g_2`, r.`v_3`, r.`d_4` FROM `__ps_scan_10` r LEFT SEMI JOIN `__ps_stale_9` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_12` AS (
  SELECT `g_2` AS `g_2`, count(1) AS `count_5`, count(`v_3`) AS `count_6`, sum(`v_3`) AS `sum_7`, avg(`v_3`) AS `average_8`, sum(`d_4`) AS `sum_9`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n`, CAST(count(CASE WHEN `v_3` IS NOT NULL THEN 1 END) AS BIGINT) AS `__ps_s1_n`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s2_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s2_s`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s3_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s3_s`, CAST(coalesce(sum(abs(CAST(`v_3` AS DECIMAL(38,0)))), 0) AS DECIMAL(38,0)) AS `__ps_s3_b`, CAST(count(`d_4`) AS BIGINT) AS `__ps_s4_n`, CAST(coalesce(sum(CAST(`d_4` AS DECIMAL(37,2))), 0) AS DECIMAL(37,2)) AS `__ps_s4_s` FROM `__ps_touched_rows_11` GROUP BY `g_2`
),
`__ps_row_13` AS (
  SELECT `g_2`, `count_5`, `count_6`, `sum_7`, `average_8`, `sum_9`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, TRUE AS `__ps_shown` FROM `__ps_group_12`
),
`__ps_row_14` AS (
  SELECT `g_2` AS `g_2`, `count_5` AS `c0_10`, `count_6` AS `c1_11`, `sum_7` AS `c2_12`, `average_8` AS `c3_13`, `sum_9` AS `c4_14`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s`, `__ps_shown` FROM `__ps_row_13`
),
`__ps_stored_row_15` AS (
  SELECT `g_2` AS `g`, `c0_10` AS `c0`, `c1_11` AS `c1`, `c2_12` AS `c2`, `c3_13` AS `c3`, `c4_14` AS `c4`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s2_n`, `__ps_s2_s`, `__ps_s3_n`, `__ps_s3_s`, `__ps_s3_b`, `__ps_s4_n`, `__ps_s4_s` FROM `__ps_row_14`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c0` ELSE o.`c0` END AS `c0`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c1` ELSE o.`c1` END AS `c1`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c2` ELSE o.`c2` END AS `c2`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c3` ELSE o.`c3` END AS `c3`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c4` ELSE o.`c4` END AS `c4`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s1_n` ELSE o.`__ps_s1_n` END AS `__ps_s1_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s2_n` ELSE o.`__ps_s2_n` END AS `__ps_s2_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s2_s` ELSE o.`__ps_s2_s` END AS `__ps_s2_s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s3_n` ELSE o.`__ps_s3_n` END AS `__ps_s3_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s3_s` ELSE o.`__ps_s3_s` END AS `__ps_s3_s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s3_b` ELSE o.`__ps_s3_b` END AS `__ps_s3_b`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s4_n` ELSE o.`__ps_s4_n` END AS `__ps_s4_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s4_s` ELSE o.`__ps_s4_s` END AS `__ps_s4_s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`) AND ((CAST(n.`c3` AS STRING) <=> CAST(o.`c3` AS STRING)) AND (n.`c3` <=> o.`c3`)) AND (n.`c4` <=> o.`c4`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`) AND ((CAST(n.`c3` AS STRING) <=> CAST(o.`c3` AS STRING)) AND (n.`c3` <=> o.`c3`)) AND (n.`c4` <=> o.`c4`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_9` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_15`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_4`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`) AND ((CAST(n.`c3` AS STRING) <=> CAST(o.`c3` AS STRING)) AND (n.`c3` <=> o.`c3`)) AND (n.`c4` <=> o.`c4`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`) AND (n.`__ps_s1_n` <=> o.`__ps_s1_n`) AND (n.`__ps_s2_n` <=> o.`__ps_s2_n`) AND (n.`__ps_s2_s` <=> o.`__ps_s2_s`) AND (n.`__ps_s3_n` <=> o.`__ps_s3_n`) AND (n.`__ps_s3_s` <=> o.`__ps_s3_s`) AND (n.`__ps_s3_b` <=> o.`__ps_s3_b`) AND (n.`__ps_s4_n` <=> o.`__ps_s4_n`) AND (n.`__ps_s4_s` <=> o.`__ps_s4_s`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: folded extremes
-- query: SELECT g, min(v), max(d) FROM t GROUP BY g
-- stored as: folded groups
--   g STRING
--   c0 INT
--   c1 DECIMAL(8,2)
--   __ps_count BIGINT
--   __ps_s0_m INT
--   __ps_s1_m DECIMAL(8,2)

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `g_2` AS `g_2`, min(`v_3`) AS `min_5`, max(`d_4`) AS `max_6`, count(*) AS `__ps_count`, CAST(min(`v_3`) AS INT) AS `__ps_s0_m`, CAST(max(`d_4`) AS DECIMAL(8,2)) AS `__ps_s1_m` FROM `__ps_scan_1` GROUP BY `g_2`
),
`__ps_row_3` AS (
  SELECT `g_2`, `min_5`, `max_6`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `g_2` AS `g_2`, `min_5` AS `c0_7`, `max_6` AS `c1_8`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `g_2` AS `g`, `c0_7` AS `c0`, `c1_8` AS `c1`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m` FROM `__ps_row_4`
)
SELECT `g`, `c0`, `c1`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m` FROM `__ps_stored_row_5`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT `g_2` AS `g_2`, `v_3` AS `__ps_x0`, `d_4` AS `__ps_x1`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_net_3` AS (
  SELECT `g_2`, `__ps_x0`, `__ps_x1`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_arguments_2` GROUP BY `g_2`, `__ps_x0`, `__ps_x1` HAVING sum(`__ps_weight`) <> 0
),
`__ps_summed_4` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, min(CASE WHEN `__ps_weight` > 0 THEN `__ps_x0` END) AS `__ps_d0_came`, min(CASE WHEN `__ps_weight` < 0 THEN `__ps_x0` END) AS `__ps_d0_left`, max(CASE WHEN `__ps_weight` > 0 THEN `__ps_x1` END) AS `__ps_d1_came`, max(CASE WHEN `__ps_weight` < 0 THEN `__ps_x1` END) AS `__ps_d1_left` FROM `__ps_net_3` GROUP BY `g_2`
),
`__ps_folded_5` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(least(o.`__ps_s0_m`, d.`__ps_d0_came`) AS INT) AS `__ps_s0_m`, CAST(greatest(o.`__ps_s1_m`, d.`__ps_d1_came`) AS DECIMAL(8,2)) AS `__ps_s1_m`, coalesce(d.`__ps_d0_left` IS NOT NULL AND (least(o.`__ps_s0_m`, d.`__ps_d0_came`) IS NULL OR d.`__ps_d0_left` <= least(o.`__ps_s0_m`, d.`__ps_d0_came`)), FALSE) OR coalesce(d.`__ps_d1_left` IS NOT NULL AND (greatest(o.`__ps_s1_m`, d.`__ps_d1_came`) IS NULL OR d.`__ps_d1_left` >= greatest(o.`__ps_s1_m`, d.`__ps_d1_came`)), FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`c0` AS `__ps_o1`, o.`c1` AS `__ps_o2`, o.`__ps_count` AS `__ps_o3`, o.`__ps_s0_m` AS `__ps_o4`, o.`__ps_s1_m` AS `__ps_o5` FROM `__ps_summed_4` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
),
`__ps_valued_6` AS (
  SELECT `g_2`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s0_m` END AS INT) AS `min_5`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s1_m` END AS DECIMAL(8,2)) AS `max_6`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5` FROM `__ps_folded_5` f
),
`__ps_row_7` AS (
  SELECT `g_2`, `min_5`, `max_6`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_6`
),
`__ps_row_8` AS (
  SELECT `g_2` AS `g_2`, `min_5` AS `c0_7`, `max_6` AS `c1_8`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_shown` FROM `__ps_row_7`
),
`__ps_stored_row_9` AS (
  SELECT `g_2` AS `g`, `c0_7` AS `c0`, `c1_8` AS `c1`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5` FROM `__ps_row_8`
)
SELECT `g`, `c0`, `c1`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_9`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`c0` <=> `__ps_o1`) AND (`c1` <=> `__ps_o2`) AND (`__ps_count` <=> `__ps_o3`) AND (`__ps_s0_m` <=> `__ps_o4`) AND (`__ps_s1_m` <=> `__ps_o5`)));

-- recompute: touched groups computed anew
--   __ps_after_default_t_5 within g in __ps_changed.g
--   __ps_stored_within_4 within g in __ps_changed.g
WITH `__ps_scan_11` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4` FROM `__ps_after_default_t_5`
),
`__ps_stale_10` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_12` AS (
  SELECT r.`g_2`, r.`v_3`, r.`d_4` FROM `__ps_scan_11` r LEFT SEMI JOIN `__ps_stale_10` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_13` AS (
  SELECT `g_2` AS `g_2`, min(`v_3`) AS `min_5`, max(`d_4`) AS `max_6`, count(*) AS `__ps_count`, CAST(min(`v_3`) AS INT) AS `__ps_s0_m`, CAST(max(`d_4`) AS DECIMAL(8,2)) AS `__ps_s1_m` FROM `__ps_touched_rows_12` GROUP BY `g_2`
),
`__ps_row_14` AS (
  SELECT `g_2`, `min_5`, `max_6`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, TRUE AS `__ps_shown` FROM `__ps_group_13`
),
`__ps_row_15` AS (
  SELECT `g_2` AS `g_2`, `min_5` AS `c0_7`, `max_6` AS `c1_8`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m`, `__ps_shown` FROM `__ps_row_14`
),
`__ps_stored_row_16` AS (
  SELECT `g_2` AS `g`, `c0_7` AS `c0`, `c1_8` AS `c1`, `__ps_count`, `__ps_s0_m`, `__ps_s1_m` FROM `__ps_row_15`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c0` ELSE o.`c0` END AS `c0`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`c1` ELSE o.`c1` END AS `c1`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_m` ELSE o.`__ps_s0_m` END AS `__ps_s0_m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s1_m` ELSE o.`__ps_s1_m` END AS `__ps_s1_m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_10` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_16`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_4`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_m` <=> o.`__ps_s0_m`) AND (n.`__ps_s1_m` <=> o.`__ps_s1_m`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: global aggregate
-- query: SELECT count(*), sum(v), max(v) FROM t
-- stored as: folded groups
--   c0 BIGINT
--   c1 BIGINT
--   c2 INT
--   __ps_count BIGINT
--   __ps_s0_n BIGINT
--   __ps_s1_n BIGINT
--   __ps_s1_s DECIMAL(38,0)
--   __ps_s2_m INT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT count(1) AS `count_5`, sum(`v_3`) AS `sum_6`, max(`v_3`) AS `max_7`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s1_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s1_s`, CAST(max(`v_3`) AS INT) AS `__ps_s2_m` FROM `__ps_scan_1`
),
`__ps_row_3` AS (
  SELECT `count_5`, `sum_6`, `max_7`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `count_5` AS `c0_8`, `sum_6` AS `c1_9`, `max_7` AS `c2_10`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `c0_8` AS `c0`, `c1_9` AS `c1`, `c2_10` AS `c2`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m` FROM `__ps_row_4`
)
SELECT `c0`, `c1`, `c2`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m` FROM `__ps_stored_row_5`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT CASE WHEN TRUE THEN 1 END AS `__ps_x0`, `v_3` AS `__ps_x1`, `v_3` AS `__ps_x2`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_net_3` AS (
  SELECT `__ps_x0`, `__ps_x1`, `__ps_x2`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_arguments_2` GROUP BY `__ps_x0`, `__ps_x1`, `__ps_x2` HAVING sum(`__ps_weight`) <> 0
),
`__ps_summed_4` AS (
  SELECT coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n`, coalesce(sum(CASE WHEN `__ps_x1` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d1_n`, coalesce(CAST(sum(CAST(`__ps_x1` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d1_s`, max(CASE WHEN `__ps_weight` > 0 THEN `__ps_x2` END) AS `__ps_d2_came`, max(CASE WHEN `__ps_weight` < 0 THEN `__ps_x2` END) AS `__ps_d2_left` FROM `__ps_net_3`
),
`__ps_folded_5` AS (
  SELECT coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(o.`__ps_s1_n`, 0) + d.`__ps_d1_n` AS BIGINT) AS `__ps_s1_n`, CAST(coalesce(o.`__ps_s1_s`, 0) + d.`__ps_d1_s` AS DECIMAL(38,0)) AS `__ps_s1_s`, CAST(greatest(o.`__ps_s2_m`, d.`__ps_d2_came`) AS INT) AS `__ps_s2_m`, coalesce(d.`__ps_d2_left` IS NOT NULL AND (greatest(o.`__ps_s2_m`, d.`__ps_d2_came`) IS NULL OR d.`__ps_d2_left` >= greatest(o.`__ps_s2_m`, d.`__ps_d2_came`)), FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`c0` AS `__ps_o0`, o.`c1` AS `__ps_o1`, o.`c2` AS `__ps_o2`, o.`__ps_count` AS `__ps_o3`, o.`__ps_s0_n` AS `__ps_o4`, o.`__ps_s1_n` AS `__ps_o5`, o.`__ps_s1_s` AS `__ps_o6`, o.`__ps_s2_m` AS `__ps_o7` FROM `__ps_summed_4` d LEFT JOIN `__ps_stored` o ON TRUE
),
`__ps_valued_6` AS (
  SELECT CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` < 0) THEN f.`__ps_s0_n` END AS BIGINT) AS `count_5`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` < 0) THEN CASE WHEN f.`__ps_s1_n` > 0 THEN CAST(f.`__ps_s1_s` AS BIGINT) END END AS BIGINT) AS `sum_6`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` < 0) THEN f.`__ps_s2_m` END AS INT) AS `max_7`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7` FROM `__ps_folded_5` f
),
`__ps_row_7` AS (
  SELECT `count_5`, `sum_6`, `max_7`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, NOT (`__ps_stale` OR `__ps_count` < 0) AS `__ps_shown` FROM `__ps_valued_6`
),
`__ps_row_8` AS (
  SELECT `count_5` AS `c0_8`, `sum_6` AS `c1_9`, `max_7` AS `c2_10`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_shown` FROM `__ps_row_7`
),
`__ps_stored_row_9` AS (
  SELECT `c0_8` AS `c0`, `c1_9` AS `c1`, `c2_10` AS `c2`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7` FROM `__ps_row_8`
)
SELECT `c0`, `c1`, `c2`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`c0` <=> `__ps_o0`) AND (`c1` <=> `__ps_o1`) AND (`c2` <=> `__ps_o2`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`c0` <=> `__ps_o0`) AND (`c1` <=> `__ps_o1`) AND (`c2` <=> `__ps_o2`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_9`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`c0` <=> `__ps_o0`) AND (`c1` <=> `__ps_o1`) AND (`c2` <=> `__ps_o2`) AND (`__ps_count` <=> `__ps_o3`) AND (`__ps_s0_n` <=> `__ps_o4`) AND (`__ps_s1_n` <=> `__ps_o5`) AND (`__ps_s1_s` <=> `__ps_o6`) AND (`__ps_s2_m` <=> `__ps_o7`)));

-- recompute: touched groups computed anew
WITH `__ps_scan_10` AS (
  SELECT `v` AS `v_3` FROM `__ps_after_default_t_3`
),
`__ps_group_11` AS (
  SELECT count(1) AS `count_5`, sum(`v_3`) AS `sum_6`, max(`v_3`) AS `max_7`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s1_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s1_s`, CAST(max(`v_3`) AS INT) AS `__ps_s2_m` FROM `__ps_scan_10`
),
`__ps_row_12` AS (
  SELECT `count_5`, `sum_6`, `max_7`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, TRUE AS `__ps_shown` FROM `__ps_group_11`
),
`__ps_row_13` AS (
  SELECT `count_5` AS `c0_8`, `sum_6` AS `c1_9`, `max_7` AS `c2_10`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m`, `__ps_shown` FROM `__ps_row_12`
),
`__ps_stored_row_14` AS (
  SELECT `c0_8` AS `c0`, `c1_9` AS `c1`, `c2_10` AS `c2`, `__ps_count`, `__ps_s0_n`, `__ps_s1_n`, `__ps_s1_s`, `__ps_s2_m` FROM `__ps_row_13`
)
SELECT CASE WHEN coalesce(TRUE, FALSE) THEN n.`c0` ELSE o.`c0` END AS `c0`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`c1` ELSE o.`c1` END AS `c1`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`c2` ELSE o.`c2` END AS `c2`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_s1_n` ELSE o.`__ps_s1_n` END AS `__ps_s1_n`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_s1_s` ELSE o.`__ps_s1_s` END AS `__ps_s1_s`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_s2_m` ELSE o.`__ps_s2_m` END AS `__ps_s2_m`, CASE WHEN coalesce(TRUE, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(TRUE, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stored_row_14` n LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored`) o ON TRUE
WHERE (coalesce(TRUE, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`) AND (n.`__ps_s1_n` <=> o.`__ps_s1_n`) AND (n.`__ps_s1_s` <=> o.`__ps_s1_s`) AND (n.`__ps_s2_m` <=> o.`__ps_s2_m`))) OR (NOT coalesce(TRUE, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: having
-- query: SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 3
-- stored as: folded groups
--   g STRING
--   s BIGINT
--   __ps_count BIGINT
--   __ps_s0_n BIGINT
--   __ps_s0_s DECIMAL(38,0)
--   __ps_shown BOOLEAN

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `g_2` AS `g_2`, sum(`v_3`) AS `sum_5`, count(*) AS `__ps_count`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s0_s` FROM `__ps_scan_1` GROUP BY `g_2`
),
`__ps_row_3` AS (
  SELECT `g_2`, `sum_5`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `g_2` AS `g_2`, `sum_5` AS `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` FROM `__ps_row_3`
),
`__ps_row_5` AS (
  SELECT `g_2`, `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, (`__ps_shown` AND coalesce((`s_6` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_4`
),
`__ps_stored_row_6` AS (
  SELECT `g_2` AS `g`, `s_6` AS `s`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` AS `__ps_shown` FROM `__ps_row_5`
)
SELECT `g`, `s`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` FROM `__ps_stored_row_6`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT `g_2` AS `g_2`, `v_3` AS `__ps_x0`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_summed_3` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n`, coalesce(CAST(sum(CAST(`__ps_x0` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d0_s` FROM `__ps_arguments_2` GROUP BY `g_2`
),
`__ps_folded_4` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(o.`__ps_s0_s`, 0) + d.`__ps_d0_s` AS DECIMAL(38,0)) AS `__ps_s0_s`, FALSE AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`s` AS `__ps_o1`, o.`__ps_count` AS `__ps_o2`, o.`__ps_s0_n` AS `__ps_o3`, o.`__ps_s0_s` AS `__ps_o4`, o.`__ps_shown` AS `__ps_o5` FROM `__ps_summed_3` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
),
`__ps_valued_5` AS (
  SELECT `g_2`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN CASE WHEN f.`__ps_s0_n` > 0 THEN CAST(f.`__ps_s0_s` AS BIGINT) END END AS BIGINT) AS `sum_5`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5` FROM `__ps_folded_4` f
),
`__ps_row_6` AS (
  SELECT `g_2`, `sum_5`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_5`
),
`__ps_row_7` AS (
  SELECT `g_2` AS `g_2`, `sum_5` AS `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_shown` FROM `__ps_row_6`
),
`__ps_row_8` AS (
  SELECT `g_2`, `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, (`__ps_shown` AND coalesce((`s_6` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_7`
),
`__ps_stored_row_9` AS (
  SELECT `g_2` AS `g`, `s_6` AS `s`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` AS `__ps_shown`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5` FROM `__ps_row_8`
)
SELECT `g`, `s`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND `__ps_shown`) AND NOT ((`__ps_op` = 'u' AND `__ps_shown`) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o5`) AND (`g` <=> `__ps_o0`) AND (`s` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o5`) AND NOT ((`__ps_op` = 'u' AND `__ps_shown`) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o5`) AND (`g` <=> `__ps_o0`) AND (`s` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_9`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`s` <=> `__ps_o1`) AND (`__ps_count` <=> `__ps_o2`) AND (`__ps_s0_n` <=> `__ps_o3`) AND (`__ps_s0_s` <=> `__ps_o4`) AND (`__ps_shown` <=> `__ps_o5`)));

-- recompute: touched groups computed anew
--   __ps_after_default_t_5 within g in __ps_changed.g
--   __ps_stored_within_4 within g in __ps_changed.g
WITH `__ps_scan_11` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_5`
),
`__ps_stale_10` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_12` AS (
  SELECT r.`g_2`, r.`v_3` FROM `__ps_scan_11` r LEFT SEMI JOIN `__ps_stale_10` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_13` AS (
  SELECT `g_2` AS `g_2`, sum(`v_3`) AS `sum_5`, count(*) AS `__ps_count`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s0_s` FROM `__ps_touched_rows_12` GROUP BY `g_2`
),
`__ps_row_14` AS (
  SELECT `g_2`, `sum_5`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, TRUE AS `__ps_shown` FROM `__ps_group_13`
),
`__ps_row_15` AS (
  SELECT `g_2` AS `g_2`, `sum_5` AS `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` FROM `__ps_row_14`
),
`__ps_row_16` AS (
  SELECT `g_2`, `s_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, (`__ps_shown` AND coalesce((`s_6` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_15`
),
`__ps_stored_row_17` AS (
  SELECT `g_2` AS `g`, `s_6` AS `s`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_shown` AS `__ps_shown` FROM `__ps_row_16`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`s` ELSE o.`s` END AS `s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_s` ELSE o.`__ps_s0_s` END AS `__ps_s0_s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_shown` ELSE o.`__ps_shown` END AS `__ps_shown`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND (n.`g` <=> o.`g`) AND (n.`s` <=> o.`s`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND (n.`g` <=> o.`g`) AND (n.`s` <=> o.`s`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_10` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_17`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_4`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`s` <=> o.`s`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`) AND (n.`__ps_s0_s` <=> o.`__ps_s0_s`) AND (n.`__ps_shown` <=> o.`__ps_shown`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

-- title: minimum over a join
-- query: SELECT t.g, min(u.w) AS m FROM t JOIN u ON t.k = u.k GROUP BY t.g
-- stored as: folded groups
--   g STRING
--   m INT
--   __ps_count BIGINT
--   __ps_s0_m INT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_group_4` AS (
  SELECT `g_2` AS `g_2`, min(`w_7`) AS `min_8`, count(*) AS `__ps_count`, CAST(min(`w_7`) AS INT) AS `__ps_s0_m` FROM `__ps_join_3` GROUP BY `g_2`
),
`__ps_row_5` AS (
  SELECT `g_2`, `min_8`, `__ps_count`, `__ps_s0_m`, TRUE AS `__ps_shown` FROM `__ps_group_4`
),
`__ps_row_6` AS (
  SELECT `g_2` AS `g_2`, `min_8` AS `m_9`, `__ps_count`, `__ps_s0_m`, `__ps_shown` FROM `__ps_row_5`
),
`__ps_stored_row_7` AS (
  SELECT `g_2` AS `g`, `m_9` AS `m`, `__ps_count`, `__ps_s0_m` FROM `__ps_row_6`
)
SELECT `g`, `m`, `__ps_count`, `__ps_s0_m` FROM `__ps_stored_row_7`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_before_default_t_4`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_3`
),
`__ps_join_6` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`, `__ps_scan_4`.`__ps_weight`
  FROM `__ps_scan_4`
  JOIN `__ps_scan_5` ON (`k_1` = `k_5`)
),
`__ps_join_7` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`, `__ps_weight` FROM `__ps_join_3`
  UNION ALL
  SELECT `k_1`, `g_2`, `k_5`, `w_7`, `__ps_weight` FROM `__ps_join_6`
),
`__ps_arguments_8` AS (
  SELECT `g_2` AS `g_2`, `w_7` AS `__ps_x0`, `__ps_weight` FROM `__ps_join_7`
),
`__ps_net_9` AS (
  SELECT `g_2`, `__ps_x0`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_arguments_8` GROUP BY `g_2`, `__ps_x0` HAVING sum(`__ps_weight`) <> 0
),
`__ps_summed_10` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, min(CASE WHEN `__ps_weight` > 0 THEN `__ps_x0` END) AS `__ps_d0_came`, min(CASE WHEN `__ps_weight` < 0 THEN `__ps_x0` END) AS `__ps_d0_left` FROM `__ps_net_9` GROUP BY `g_2`
),
`__ps_folded_11` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(least(o.`__ps_s0_m`, d.`__ps_d0_came`) AS INT) AS `__ps_s0_m`, coalesce(d.`__ps_d0_left` IS NOT NULL AND (least(o.`__ps_s0_m`, d.`__ps_d0_came`) IS NULL OR d.`__ps_d0_left` <= least(o.`__ps_s0_m`, d.`__ps_d0_came`)), FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`m` AS `__ps_o1`, o.`__ps_count` AS `__ps_o2`, o.`__ps_s0_m` AS `__ps_o3` FROM `__ps_summed_10` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
),
`__ps_valued_12` AS (
  SELECT `g_2`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s0_m` END AS INT) AS `min_8`, `__ps_count`, `__ps_s0_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3` FROM `__ps_folded_11` f
),
`__ps_row_13` AS (
  SELECT `g_2`, `min_8`, `__ps_count`, `__ps_s0_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_12`
),
`__ps_row_14` AS (
  SELECT `g_2` AS `g_2`, `min_8` AS `m_9`, `__ps_count`, `__ps_s0_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_shown` FROM `__ps_row_13`
),
`__ps_stored_row_15` AS (
  SELECT `g_2` AS `g`, `m_9` AS `m`, `__ps_count`, `__ps_s0_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3` FROM `__ps_row_14`
)
SELECT `g`, `m`, `__ps_count`, `__ps_s0_m`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`m` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`g` <=> `__ps_o0`) AND (`m` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_15`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`m` <=> `__ps_o1`) AND (`__ps_count` <=> `__ps_o2`) AND (`__ps_s0_m` <=> `__ps_o3`)));

-- recompute: touched groups computed anew
--   __ps_after_default_t_8 within g in __ps_changed.g
--   __ps_stored_within_7 within g in __ps_changed.g
WITH `__ps_scan_17` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_8`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_2`
),
`__ps_join_18` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`
  FROM `__ps_scan_17`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_stale_16` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_19` AS (
  SELECT r.`k_1`, r.`g_2`, r.`k_5`, r.`w_7` FROM `__ps_join_18` r LEFT SEMI JOIN `__ps_stale_16` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_20` AS (
  SELECT `g_2` AS `g_2`, min(`w_7`) AS `min_8`, count(*) AS `__ps_count`, CAST(min(`w_7`) AS INT) AS `__ps_s0_m` FROM `__ps_touched_rows_19` GROUP BY `g_2`
),
`__ps_row_21` AS (
  SELECT `g_2`, `min_8`, `__ps_count`, `__ps_s0_m`, TRUE AS `__ps_shown` FROM `__ps_group_20`
),
`__ps_row_22` AS (
  SELECT `g_2` AS `g_2`, `min_8` AS `m_9`, `__ps_count`, `__ps_s0_m`, `__ps_shown` FROM `__ps_row_21`
),
`__ps_stored_row_23` AS (
  SELECT `g_2` AS `g`, `m_9` AS `m`, `__ps_count`, `__ps_s0_m` FROM `__ps_row_22`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`m` ELSE o.`m` END AS `m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_m` ELSE o.`__ps_s0_m` END AS `__ps_s0_m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_16` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_23`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_7`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_m` <=> o.`__ps_s0_m`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));
