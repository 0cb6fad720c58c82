-- title: first rows
-- query: SELECT k, v FROM t ORDER BY v, k, g LIMIT 3
-- stored as: first rows
--   k INT
--   v INT
--   __ps_o0 STRING
--   __ps_weight BIGINT

-- fill: the first rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_first_2` AS (
  SELECT `k_1` AS `k`, `v_3` AS `v`, `g_2` AS `__ps_o0`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_scan_1` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST, `g_2` ASC NULLS FIRST LIMIT 3
)
SELECT `k`, `v`, `__ps_o0`, `__ps_weight` FROM `__ps_first_2`;

-- delta: the consolidated delta below the limit
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_net_2` AS (
  SELECT `k_1`, `g_2`, `v_3`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_scan_1` GROUP BY `k_1`, `g_2`, `v_3` HAVING sum(`__ps_weight`) <> 0
)
SELECT `k_1` AS `k`, `v_3` AS `v`, `g_2` AS `__ps_o0`, `__ps_weight` FROM `__ps_net_2`;

-- settle: the first rows against the stored ones
WITH `__ps_together_3` AS (
  SELECT `k`, `v`, `__ps_o0`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT `k`, `v`, `__ps_o0`, `__ps_weight`, `__ps_weight` FROM `__ps_stored`
),
`__ps_summed_4` AS (
  SELECT `k`, `v`, `__ps_o0`, greatest(sum(`__ps_weight`), 0L) AS `__ps_now`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_3` GROUP BY `k`, `v`, `__ps_o0` HAVING sum(`__ps_weight`) > 0 OR sum(`__ps_was`) > 0
),
`__ps_placed_5` AS (
  SELECT *, sum(`__ps_now`) OVER (ORDER BY `v` ASC NULLS FIRST, `k` ASC NULLS FIRST, `__ps_o0` ASC NULLS FIRST ROWS UNBOUNDED PRECEDING) AS `__ps_upto`, row_number() OVER (ORDER BY `v` ASC NULLS FIRST, `k` ASC NULLS FIRST, `__ps_o0` ASC NULLS FIRST) AS `__ps_place`, sum(`__ps_was`) OVER () AS `__ps_had` FROM `__ps_summed_4`
),
`__ps_last_6` AS (
  SELECT *, max(CASE WHEN `__ps_was` > 0 THEN `__ps_place` END) OVER () AS `__ps_last` FROM `__ps_placed_5`
),
`__ps_enough_7` AS (
  SELECT *, `__ps_had` < 3 OR coalesce(sum(CASE WHEN `__ps_place` <= `__ps_last` THEN `__ps_now` END) OVER (), 0) >= 3 AS `__ps_enough` FROM `__ps_last_6`
),
`__ps_first_8` AS (
  SELECT `k`, `v`, `__ps_o0`, greatest(0L, least(`__ps_upto`, 3L) - greatest(`__ps_upto` - `__ps_now`, 0L)) AS `__ps_weight`, `__ps_enough` FROM `__ps_enough_7`
),
`__ps_both_9` AS (
  SELECT `k`, `v`, `__ps_o0`, `__ps_weight` AS `__ps_now`, CAST(0 AS BIGINT) AS `__ps_was`, NOT `__ps_enough` AS `__ps_refill` FROM `__ps_first_8`
  UNION ALL
  SELECT `k`, `v`, `__ps_o0`, CAST(0 AS BIGINT), `__ps_weight`, false FROM `__ps_stored`
),
`__ps_counted_10` AS (
  SELECT `k`, `v`, `__ps_o0`, sum(`__ps_now`) AS `__ps_now`, sum(`__ps_was`) AS `__ps_was`, max(max(`__ps_refill`)) OVER () AS `__ps_refill` FROM `__ps_both_9` GROUP BY `k`, `v`, `__ps_o0`
)
SELECT `k`, `v`, `__ps_o0`, `__ps_now` AS `__ps_weight`, CASE WHEN `__ps_refill` THEN '?' ELSE `__ps_op` END AS `__ps_op`, if(`__ps_op` = 'i', greatest(`__ps_now` - `__ps_was`, 0L), 0L) AS `__ps_plus`, if(`__ps_op` = 'd', greatest(-(`__ps_now` - `__ps_was`), 0L), 0L) AS `__ps_minus` FROM `__ps_counted_10` CROSS JOIN (VALUES ('d'), ('i')) AS o(`__ps_op`)
WHERE `__ps_refill` OR (`__ps_now` <> `__ps_was` AND ((`__ps_op` = 'd' AND `__ps_was` > 0) OR (`__ps_op` = 'i' AND `__ps_now` > 0)));

-- title: first rows after some
-- query: SELECT k, v FROM t ORDER BY v, k, g LIMIT 3 OFFSET 2
-- stored as: first rows
--   k INT
--   v INT
--   __ps_o0 STRING
--   __ps_shown BOOLEAN
--   __ps_weight BIGINT

-- fill: the first rows of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_first_2` AS (
  SELECT `k_1` AS `k`, `v_3` AS `v`, `g_2` AS `__ps_o0`, CAST(1 AS BIGINT) AS `__ps_weight`, row_number() OVER (ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST, `g_2` ASC NULLS FIRST) > 2 AS `__ps_shown` FROM `__ps_scan_1` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST, `g_2` ASC NULLS FIRST LIMIT 5
)
SELECT `k`, `v`, `__ps_o0`, `__ps_shown`, `__ps_weight` FROM `__ps_first_2`;

-- delta: the consolidated delta below the limit
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_net_2` AS (
  SELECT `k_1`, `g_2`, `v_3`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_scan_1` GROUP BY `k_1`, `g_2`, `v_3` HAVING sum(`__ps_weight`) <> 0
)
SELECT `k_1` AS `k`, `v_3` AS `v`, `g_2` AS `__ps_o0`, `__ps_weight` FROM `__ps_net_2`;

-- settle: the first rows against the stored ones
WITH `__ps_together_3` AS (
  SELECT `k`, `v`, `__ps_o0`, `__ps_weight`, CAST(0 AS BIGINT) AS `__ps_was` FROM `__ps_changed`
  UNION ALL
  SELECT `k`, `v`, `__ps_o0`, `__ps_weight`, `__ps_weight` FROM `__ps_stored`
),
`__ps_summed_4` AS (
  SELECT `k`, `v`, `__ps_o0`, greatest(sum(`__ps_weight`), 0L) AS `__ps_now`, sum(`__ps_was`) AS `__ps_was` FROM `__ps_together_3` GROUP BY `k`, `v`, `__ps_o0` HAVING sum(`__ps_weight`) > 0 OR sum(`__ps_was`) > 0
),
`__ps_placed_5` AS (
  SELECT *, sum(`__ps_now`) OVER (ORDER BY `v` ASC NULLS FIRST, `k` ASC NULLS FIRST, `__ps_o0` ASC NULLS FIRST ROWS UNBOUNDED PRECEDING) AS `__ps_upto`, row_number() OVER (ORDER BY `v` ASC NULLS FIRST, `k` ASC NULLS FIRST, `__ps_o0` ASC NULLS FIRST) AS `__ps_place`, sum(`__ps_was`) OVER () AS `__ps_had` FROM `__ps_summed_4`
),
`__ps_last_6` AS (
  SELECT *, max(CASE WHEN `__ps_was` > 0 THEN `__ps_place` END) OVER () AS `__ps_last` FROM `__ps_placed_5`
),
`__ps_enough_7` AS (
  SELECT *, `__ps_had` < 5 OR coalesce(sum(CASE WHEN `__ps_place` <= `__ps_last` THEN `__ps_now` END) OVER (), 0) >= 5 AS `__ps_enough` FROM `__ps_last_6`
),
`__ps_first_8` AS (
  SELECT `k`, `v`, `__ps_o0`, false AS `__ps_shown`, greatest(0L, least(`__ps_upto`, 2L) - greatest(`__ps_upto` - `__ps_now`, 0L)) AS `__ps_weight`, `__ps_enough` FROM `__ps_enough_7`
  UNION ALL
  SELECT `k`, `v`, `__ps_o0`, true AS `__ps_shown`, greatest(0L, least(`__ps_upto`, 5L) - greatest(`__ps_upto` - `__ps_now`, 2L)) AS `__ps_weight`, `__ps_enough` FROM `__ps_enough_7`
),
`__ps_both_9` AS (
  SELECT `k`, `v`, `__ps_o0`, `__ps_shown`, `__ps_weight` AS `__ps_now`, CAST(0 AS BIGINT) AS `__ps_was`, NOT `__ps_enough` AS `__ps_refill` FROM `__ps_first_8`
  UNION ALL
  SELECT `k`, `v`, `__ps_o0`, `__ps_shown`, CAST(0 AS BIGINT), `__ps_weight`, false FROM `__ps_stored`
),
`__ps_counted_10` AS (
  SELECT `k`, `v`, `__ps_o0`, `__ps_shown`, sum(`__ps_now`) AS `__ps_now`, sum(`__ps_was`) AS `__ps_was`, max(max(`__ps_refill`)) OVER () AS `__ps_refill` FROM `__ps_both_9` GROUP BY `k`, `v`, `__ps_o0`, `__ps_shown`
)
SELECT `k`, `v`, `__ps_o0`, `__ps_shown`, `__ps_now` AS `__ps_weight`, CASE WHEN `__ps_refill` THEN '?' ELSE `__ps_op` END AS `__ps_op`, if(`__ps_op` = 'i', greatest(if(`__ps_shown`, `__ps_now` - `__ps_was`, 0L), 0L), 0L) AS `__ps_plus`, if(`__ps_op` = 'd', greatest(-(if(`__ps_shown`, `__ps_now` - `__ps_was`, 0L)), 0L), 0L) AS `__ps_minus` FROM `__ps_counted_10` CROSS JOIN (VALUES ('d'), ('i')) AS o(`__ps_op`)
WHERE `__ps_refill` OR (`__ps_now` <> `__ps_was` AND ((`__ps_op` = 'd' AND `__ps_was` > 0) OR (`__ps_op` = 'i' AND `__ps_now` > 0)));

-- title: first groups
-- query: SELECT g, sum(v) AS s FROM t GROUP BY g HAVING sum(v) > 3 ORDER BY max(k) DESC, g LIMIT 3 OFFSET 1
-- stored as: folded groups, the first shown
--   g STRING
--   sum BIGINT
--   __ps_by0 INT
--   __ps_count BIGINT
--   __ps_s0_n BIGINT
--   __ps_s0_s DECIMAL(38,0)
--   __ps_s1_m INT
--   __ps_passed BOOLEAN
--   __ps_shown BOOLEAN

-- fill: all groups of the query, the first of them marked
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_group_2` AS (
  SELECT `g_2` AS `g_2`, sum(`v_3`) AS `sum_5`, max(`k_1`) AS `max_6`, count(*) AS `__ps_count`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s0_s`, CAST(max(`k_1`) AS INT) AS `__ps_s1_m` FROM `__ps_scan_1` GROUP BY `g_2`
),
`__ps_row_3` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, TRUE AS `__ps_shown` FROM `__ps_group_2`
),
`__ps_row_4` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, (`__ps_shown` AND coalesce((`sum_5` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_3`
),
`__ps_stored_row_5` AS (
  SELECT `g_2` AS `g`, `sum_5` AS `sum`, `max_6` AS `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_shown` AS `__ps_passed`, `__ps_shown` AS `__ps_shown` FROM `__ps_row_4`
),
`__ps_place_6` AS (
  SELECT *, row_number() OVER (ORDER BY `__ps_passed` DESC, `__ps_by0` DESC NULLS LAST, `g` ASC NULLS FIRST) AS `__ps_place` FROM `__ps_stored_row_5`
),
`__ps_placed_7` AS (
  SELECT *, (`__ps_passed` AND `__ps_place` > 1 AND `__ps_place` <= 4) AS `__ps_among` FROM `__ps_place_6`
)
SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_among` AS `__ps_shown` FROM `__ps_placed_7`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT `g_2` AS `g_2`, `v_3` AS `__ps_x0`, `k_1` AS `__ps_x1`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_net_3` AS (
  SELECT `g_2`, `__ps_x0`, `__ps_x1`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_arguments_2` GROUP BY `g_2`, `__ps_x0`, `__ps_x1` HAVING sum(`__ps_weight`) <> 0
),
`__ps_summed_4` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n`, coalesce(CAST(sum(CAST(`__ps_x0` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d0_s`, max(CASE WHEN `__ps_weight` > 0 THEN `__ps_x1` END) AS `__ps_d1_came`, max(CASE WHEN `__ps_weight` < 0 THEN `__ps_x1` END) AS `__ps_d1_left` FROM `__ps_net_3` GROUP BY `g_2`
),
`__ps_folded_5` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(o.`__ps_s0_s`, 0) + d.`__ps_d0_s` AS DECIMAL(38,0)) AS `__ps_s0_s`, CAST(greatest(o.`__ps_s1_m`, d.`__ps_d1_came`) AS INT) AS `__ps_s1_m`, coalesce(d.`__ps_d1_left` IS NOT NULL AND (greatest(o.`__ps_s1_m`, d.`__ps_d1_came`) IS NULL OR d.`__ps_d1_left` >= greatest(o.`__ps_s1_m`, d.`__ps_d1_came`)), FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`sum` AS `__ps_o1`, o.`__ps_by0` AS `__ps_o2`, o.`__ps_count` AS `__ps_o3`, o.`__ps_s0_n` AS `__ps_o4`, o.`__ps_s0_s` AS `__ps_o5`, o.`__ps_s1_m` AS `__ps_o6`, o.`__ps_passed` AS `__ps_o7`, o.`__ps_shown` AS `__ps_o8` FROM `__ps_summed_4` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
),
`__ps_valued_6` AS (
  SELECT `g_2`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN CASE WHEN f.`__ps_s0_n` > 0 THEN CAST(f.`__ps_s0_s` AS BIGINT) END END AS BIGINT) AS `sum_5`, CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` <= 0) THEN f.`__ps_s1_m` END AS INT) AS `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8` FROM `__ps_folded_5` f
),
`__ps_row_7` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, NOT (`__ps_stale` OR `__ps_count` <= 0) AS `__ps_shown` FROM `__ps_valued_6`
),
`__ps_row_8` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8`, (`__ps_shown` AND coalesce((`sum_5` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_7`
),
`__ps_stored_row_9` AS (
  SELECT `g_2` AS `g`, `sum_5` AS `sum`, `max_6` AS `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_shown` AS `__ps_passed`, `__ps_shown` AS `__ps_shown`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, `__ps_o3`, `__ps_o4`, `__ps_o5`, `__ps_o6`, `__ps_o7`, `__ps_o8` FROM `__ps_row_8`
)
SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND `__ps_shown`) AND NOT ((`__ps_op` = 'u' AND `__ps_shown`) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o8`) AND (`g` <=> `__ps_o0`) AND (`sum` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o8`) AND NOT ((`__ps_op` = 'u' AND `__ps_shown`) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND `__ps_o8`) AND (`g` <=> `__ps_o0`) AND (`sum` <=> `__ps_o1`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_count` = 0 THEN 'd' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_9`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`g` <=> `__ps_o0`) AND (`sum` <=> `__ps_o1`) AND (`__ps_by0` <=> `__ps_o2`) AND (`__ps_count` <=> `__ps_o3`) AND (`__ps_s0_n` <=> `__ps_o4`) AND (`__ps_s0_s` <=> `__ps_o5`) AND (`__ps_s1_m` <=> `__ps_o6`) AND (`__ps_passed` <=> `__ps_o7`)));

-- move: groups that move across the limit
--   __ps_after_default_t_5 within g in __ps_changed.g
--   __ps_stored_within_4 within g in __ps_changed.g
WITH `__ps_anew_17` AS (
  WITH `__ps_scan_11` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `v` AS `v_3` FROM `__ps_after_default_t_5`
),
`__ps_stale_10` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_12` AS (
  SELECT r.`k_1`, r.`g_2`, r.`v_3` FROM `__ps_scan_11` r LEFT SEMI JOIN `__ps_stale_10` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_13` AS (
  SELECT `g_2` AS `g_2`, sum(`v_3`) AS `sum_5`, max(`k_1`) AS `max_6`, count(*) AS `__ps_count`, CAST(count(`v_3`) AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(sum(CAST(`v_3` AS DECIMAL(38,0))), 0) AS DECIMAL(38,0)) AS `__ps_s0_s`, CAST(max(`k_1`) AS INT) AS `__ps_s1_m` FROM `__ps_touched_rows_12` GROUP BY `g_2`
),
`__ps_row_14` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, TRUE AS `__ps_shown` FROM `__ps_group_13`
),
`__ps_row_15` AS (
  SELECT `g_2`, `sum_5`, `max_6`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, (`__ps_shown` AND coalesce((`sum_5` > 3L), FALSE)) AS `__ps_shown` FROM `__ps_row_14`
),
`__ps_stored_row_16` AS (
  SELECT `g_2` AS `g`, `sum_5` AS `sum`, `max_6` AS `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_shown` AS `__ps_passed`, `__ps_shown` AS `__ps_shown` FROM `__ps_row_15`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`sum` ELSE o.`sum` END AS `sum`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_by0` ELSE o.`__ps_by0` END AS `__ps_by0`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_s` ELSE o.`__ps_s0_s` END AS `__ps_s0_s`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s1_m` ELSE o.`__ps_s1_m` END AS `__ps_s1_m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_passed` ELSE o.`__ps_passed` END AS `__ps_passed`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_shown` ELSE o.`__ps_shown` END AS `__ps_shown`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND (n.`g` <=> o.`g`) AND (n.`sum` <=> o.`sum`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND coalesce(n.`__ps_shown`, FALSE)) AND (coalesce(o.`__ps_there`, FALSE) AND coalesce(o.`__ps_shown`, FALSE)) AND (n.`g` <=> o.`g`) AND (n.`sum` <=> o.`sum`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_10` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_16`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_4`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`sum` <=> o.`sum`) AND (n.`__ps_by0` <=> o.`__ps_by0`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`) AND (n.`__ps_s0_s` <=> o.`__ps_s0_s`) AND (n.`__ps_s1_m` <=> o.`__ps_s1_m`) AND (n.`__ps_passed` <=> o.`__ps_passed`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE))
),
`__ps_changes_18` AS (
  SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, `__ps_op`, `__ps_plus`, `__ps_minus` FROM `__ps_changed` WHERE `__ps_op` <> '?'
  UNION ALL
  SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, `__ps_op`, `__ps_plus`, `__ps_minus` FROM `__ps_anew_17`
),
`__ps_rest_19` AS (
  SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, FALSE AS `__ps_touched`, `__ps_shown` AS `__ps_was`, `__ps_shown` AS `__ps_steady` FROM `__ps_stored` s LEFT ANTI JOIN `__ps_changes_18` c ON (s.`g` <=> c.`g`) ORDER BY `__ps_shown` DESC, `__ps_passed` DESC, `__ps_by0` DESC NULLS LAST, `g` ASC NULLS FIRST LIMIT 7
),
`__ps_candidates_20` AS (
  SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, TRUE AS `__ps_touched`, `__ps_minus` = 1 OR (`__ps_passed` AND `__ps_plus` = 0) AS `__ps_was`, (`__ps_passed` AND `__ps_plus` = 0) AS `__ps_steady` FROM `__ps_changes_18` WHERE `__ps_op` = 'u'
  UNION ALL
  SELECT * FROM `__ps_rest_19`
),
`__ps_place_21` AS (
  SELECT *, row_number() OVER (ORDER BY `__ps_passed` DESC, `__ps_by0` DESC NULLS LAST, `g` ASC NULLS FIRST) AS `__ps_place` FROM `__ps_candidates_20`
),
`__ps_placed_22` AS (
  SELECT *, (`__ps_passed` AND `__ps_place` > 1 AND `__ps_place` <= 4) AS `__ps_among` FROM `__ps_place_21`
)
SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_among` AS `__ps_shown`, 'u' AS `__ps_op`, CASE WHEN `__ps_among` AND NOT `__ps_steady` THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN `__ps_was` AND NOT (`__ps_steady` AND `__ps_among`) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_placed_22` WHERE `__ps_touched` OR `__ps_among` <> `__ps_was`
UNION ALL
SELECT `g`, `sum`, `__ps_by0`, `__ps_count`, `__ps_s0_n`, `__ps_s0_s`, `__ps_s1_m`, `__ps_passed`, `__ps_shown`, `__ps_op`, `__ps_plus`, `__ps_minus` FROM `__ps_changes_18` WHERE `__ps_op` = 'd';

-- title: limit below an aggregate
-- query: SELECT count(*) AS n FROM (SELECT * FROM t ORDER BY v, k LIMIT 3)
-- stored as: folded groups
--   count BIGINT
--   __ps_count BIGINT
--   __ps_s0_n BIGINT

-- fill: all groups of the query
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_limit_2` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_1` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST LIMIT 3
),
`__ps_group_3` AS (
  SELECT count(1) AS `count_5`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n` FROM `__ps_limit_2`
),
`__ps_row_4` AS (
  SELECT `count_5`, `__ps_count`, `__ps_s0_n`, TRUE AS `__ps_shown` FROM `__ps_group_3`
),
`__ps_stored_row_5` AS (
  SELECT `count_5` AS `count`, `__ps_count`, `__ps_s0_n` FROM `__ps_row_4`
)
SELECT `count`, `__ps_count`, `__ps_s0_n` FROM `__ps_stored_row_5`;

-- fold: stored groups with the delta folded in
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_limit_2` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_1` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST LIMIT 3
),
`__ps_scan_3` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_2`
),
`__ps_limit_4` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_3` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST LIMIT 3
),
`__ps_difference_5` AS (
  SELECT `k_1`, `v_3`, CAST(1 AS BIGINT) AS `__ps_weight` FROM `__ps_limit_2`
  UNION ALL
  SELECT `k_1`, `v_3`, CAST(-1 AS BIGINT) AS `__ps_weight` FROM `__ps_limit_4`
),
`__ps_net_6` AS (
  SELECT `k_1`, `v_3`, sum(`__ps_weight`) AS `__ps_weight` FROM `__ps_difference_5` GROUP BY `k_1`, `v_3` HAVING sum(`__ps_weight`) <> 0
),
`__ps_arguments_7` AS (
  SELECT CASE WHEN TRUE THEN 1 END AS `__ps_x0`, `__ps_weight` FROM `__ps_net_6`
),
`__ps_summed_8` AS (
  SELECT coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n` FROM `__ps_arguments_7`
),
`__ps_folded_9` AS (
  SELECT coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, FALSE AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`count` AS `__ps_o0`, o.`__ps_count` AS `__ps_o1`, o.`__ps_s0_n` AS `__ps_o2` FROM `__ps_summed_8` d LEFT JOIN `__ps_stored` o ON TRUE
),
`__ps_valued_10` AS (
  SELECT CAST(CASE WHEN NOT (`__ps_stale` OR `__ps_count` < 0) THEN f.`__ps_s0_n` END AS BIGINT) AS `count_5`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2` FROM `__ps_folded_9` f
),
`__ps_row_11` AS (
  SELECT `count_5`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2`, NOT (`__ps_stale` OR `__ps_count` < 0) AS `__ps_shown` FROM `__ps_valued_10`
),
`__ps_stored_row_12` AS (
  SELECT `count_5` AS `count`, `__ps_count`, `__ps_s0_n`, `__ps_stale`, `__ps_there`, `__ps_o0`, `__ps_o1`, `__ps_o2` FROM `__ps_row_11`
)
SELECT `count`, `__ps_count`, `__ps_s0_n`, `__ps_op`, CASE WHEN (`__ps_op` = 'u' AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`count` <=> `__ps_o0`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND NOT ((`__ps_op` = 'u' AND TRUE) AND (`__ps_op` IN ('u', 'd') AND `__ps_there` AND TRUE) AND (`count` <=> `__ps_o0`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM (SELECT *, CASE WHEN `__ps_count` < 0 THEN '!' WHEN `__ps_stale` THEN '?' ELSE 'u' END AS `__ps_op` FROM `__ps_stored_row_12`)
WHERE `__ps_op` IN ('!', '?') OR (`__ps_op` = 'd' AND `__ps_there`) OR (`__ps_op` = 'u' AND NOT (`__ps_there` AND (`count` <=> `__ps_o0`) AND (`__ps_count` <=> `__ps_o1`) AND (`__ps_s0_n` <=> `__ps_o2`)));

-- recompute: touched groups computed anew
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_after_default_t_1`
),
`__ps_limit_2` AS (
  SELECT `k_1`, `v_3` FROM `__ps_scan_1` ORDER BY `v_3` ASC NULLS FIRST, `k_1` ASC NULLS FIRST LIMIT 3
),
`__ps_group_13` AS (
  SELECT count(1) AS `count_5`, count(*) AS `__ps_count`, CAST(count(CASE WHEN TRUE THEN 1 END) AS BIGINT) AS `__ps_s0_n` FROM `__ps_limit_2`
),
`__ps_row_14` AS (
  SELECT `count_5`, `__ps_count`, `__ps_s0_n`, TRUE AS `__ps_shown` FROM `__ps_group_13`
),
`__ps_stored_row_15` AS (
  SELECT `count_5` AS `count`, `__ps_count`, `__ps_s0_n` FROM `__ps_row_14`
)
SELECT CASE WHEN coalesce(TRUE, FALSE) THEN n.`count` ELSE o.`count` END AS `count`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(TRUE, FALSE) THEN n.`__ps_s0_n` ELSE o.`__ps_s0_n` END AS `__ps_s0_n`, CASE WHEN coalesce(TRUE, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(TRUE, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`count` <=> o.`count`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(TRUE, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`count` <=> o.`count`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stored_row_15` n LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored`) o ON TRUE
WHERE (coalesce(TRUE, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`count` <=> o.`count`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`))) OR (NOT coalesce(TRUE, FALSE) AND coalesce(o.`__ps_there`, FALSE));
