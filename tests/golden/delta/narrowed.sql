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

-- __ps_step_1: touched keys, to skip files: k
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `k_1` FROM `__ps_scan_1` WHERE `k_1` IS NOT NULL;

-- __ps_step_2: touched keys, to skip files: k
WITH `__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_4`
)
SELECT DISTINCT `k_5` FROM `__ps_scan_4` WHERE `k_5` IS NOT NULL;

-- delta: the consolidated delta
--   __ps_after_default_u_3 within k in __ps_step_1.k_1
--   __ps_before_default_t_6 within k in __ps_step_2.k_5
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_3`
),
`__ps_join_3` AS (
  SELECT `k_1`, `v_3`, `k_5`, `w_7`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `v` AS `v_3` FROM `__ps_before_default_t_6`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_4`
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

-- __ps_step_1: touched keys, to skip files: k
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `__ps_weight` FROM `__ps_changes_default_t_1`
)
SELECT DISTINCT `k_1` FROM `__ps_scan_1` WHERE `k_1` IS NOT NULL;

-- __ps_step_2: touched keys, to skip files: k
WITH `__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_4`
)
SELECT DISTINCT `k_5` FROM `__ps_scan_4` WHERE `k_5` IS NOT NULL;

-- __ps_step_3: the delta of every touched group
--   __ps_after_default_u_3 within k in __ps_step_1.k_1
--   __ps_before_default_t_6 within k in __ps_step_2.k_5
WITH `__ps_scan_1` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_scan_2` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_3`
),
`__ps_join_3` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`, `__ps_scan_1`.`__ps_weight`
  FROM `__ps_scan_1`
  JOIN `__ps_scan_2` ON (`k_1` = `k_5`)
),
`__ps_scan_5` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_before_default_t_6`
),
`__ps_scan_4` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7`, `__ps_weight` FROM `__ps_changes_default_u_4`
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
)
SELECT `g_2`, `__ps_count`, `__ps_d0_came`, `__ps_d0_left` FROM `__ps_summed_10`;

-- fold: stored groups with the delta folded in
--   __ps_stored within g in __ps_step_3.g_2
WITH `__ps_folded_11` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(least(o.`__ps_s0_m`, d.`__ps_d0_came`) AS INT) AS `__ps_s0_m`, coalesce(d.`__ps_d0_left` IS NOT NULL AND (least(o.`__ps_s0_m`, d.`__ps_d0_came`) IS NULL OR d.`__ps_d0_left` <= least(o.`__ps_s0_m`, d.`__ps_d0_came`)), FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`m` AS `__ps_o1`, o.`__ps_count` AS `__ps_o2`, o.`__ps_s0_m` AS `__ps_o3` FROM `__ps_step_3` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
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

-- __ps_step_4: touched keys, to skip files: k
--   __ps_after_default_t_11 within g in __ps_changed.g
WITH `__ps_scan_17` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_11`
),
`__ps_reached_18` AS (
  SELECT r.`k_1`, r.`g_2` FROM `__ps_scan_17` r LEFT SEMI JOIN `__ps_changed` k ON (k.`g` <=> r.`g_2`)
)
SELECT DISTINCT `k_1` FROM `__ps_reached_18` WHERE `k_1` IS NOT NULL;

-- recompute: touched groups computed anew
--   __ps_after_default_t_11 within g in __ps_changed.g
--   __ps_after_default_u_13 within k in __ps_step_4.k_1
--   __ps_stored_within_10 within g in __ps_changed.g
WITH `__ps_scan_17` AS (
  SELECT `k` AS `k_1`, `g` AS `g_2` FROM `__ps_after_default_t_11`
),
`__ps_scan_19` AS (
  SELECT `k` AS `k_5`, `w` AS `w_7` FROM `__ps_after_default_u_13`
),
`__ps_join_20` AS (
  SELECT `k_1`, `g_2`, `k_5`, `w_7`
  FROM `__ps_scan_17`
  JOIN `__ps_scan_19` ON (`k_1` = `k_5`)
),
`__ps_stale_16` AS (
  SELECT `g` AS `g_2` FROM `__ps_changed` WHERE `__ps_op` = '?'
),
`__ps_touched_rows_21` AS (
  SELECT r.`k_1`, r.`g_2`, r.`k_5`, r.`w_7` FROM `__ps_join_20` r LEFT SEMI JOIN `__ps_stale_16` k ON (k.`g_2` <=> r.`g_2`)
),
`__ps_group_22` AS (
  SELECT `g_2` AS `g_2`, min(`w_7`) AS `min_8`, count(*) AS `__ps_count`, CAST(min(`w_7`) AS INT) AS `__ps_s0_m` FROM `__ps_touched_rows_21` GROUP BY `g_2`
),
`__ps_row_23` AS (
  SELECT `g_2`, `min_8`, `__ps_count`, `__ps_s0_m`, TRUE AS `__ps_shown` FROM `__ps_group_22`
),
`__ps_row_24` AS (
  SELECT `g_2` AS `g_2`, `min_8` AS `m_9`, `__ps_count`, `__ps_s0_m`, `__ps_shown` FROM `__ps_row_23`
),
`__ps_stored_row_25` AS (
  SELECT `g_2` AS `g`, `m_9` AS `m`, `__ps_count`, `__ps_s0_m` FROM `__ps_row_24`
)
SELECT CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`g` ELSE o.`g` END AS `g`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`m` ELSE o.`m` END AS `m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_count` ELSE o.`__ps_count` END AS `__ps_count`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN n.`__ps_s0_m` ELSE o.`__ps_s0_m` END AS `__ps_s0_m`, CASE WHEN coalesce(n.`__ps_there`, FALSE) THEN 'u' ELSE 'd' END AS `__ps_op`, CASE WHEN (coalesce(n.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`)) THEN 1L ELSE 0L END AS `__ps_plus`, CASE WHEN (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND NOT ((coalesce(n.`__ps_there`, FALSE) AND TRUE) AND (coalesce(o.`__ps_there`, FALSE) AND TRUE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`)) THEN 1L ELSE 0L END AS `__ps_minus`
FROM `__ps_stale_16` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_25`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_10`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`m` <=> o.`m`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_m` <=> o.`__ps_s0_m`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));

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

-- __ps_step_1: the delta of every touched group
WITH `__ps_scan_1` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4`, `__ps_weight` FROM `__ps_changes_default_t_1`
),
`__ps_arguments_2` AS (
  SELECT `g_2` AS `g_2`, CASE WHEN TRUE THEN 1 END AS `__ps_x0`, CASE WHEN `v_3` IS NOT NULL THEN 1 END AS `__ps_x1`, `v_3` AS `__ps_x2`, `v_3` AS `__ps_x3`, `d_4` AS `__ps_x4`, `__ps_weight` FROM `__ps_scan_1`
),
`__ps_summed_3` AS (
  SELECT `g_2`, coalesce(sum(`__ps_weight`), 0) AS `__ps_count`, coalesce(sum(CASE WHEN `__ps_x0` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d0_n`, coalesce(sum(CASE WHEN `__ps_x1` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d1_n`, coalesce(sum(CASE WHEN `__ps_x2` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d2_n`, coalesce(CAST(sum(CAST(`__ps_x2` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d2_s`, coalesce(sum(CASE WHEN `__ps_x3` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d3_n`, coalesce(CAST(sum(CAST(`__ps_x3` AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d3_s`, coalesce(CAST(sum(CAST(abs(CAST(`__ps_x3` AS DECIMAL(19,0))) AS DECIMAL(19,0)) * CAST(`__ps_weight` AS DECIMAL(18,0))) AS DECIMAL(38,0)), 0) AS `__ps_d3_b`, coalesce(sum(CASE WHEN `__ps_x4` IS NOT NULL THEN `__ps_weight` END), 0) AS `__ps_d4_n`, coalesce(CAST(sum(CASE `__ps_weight` WHEN 1 THEN `__ps_x4` WHEN -1 THEN -(`__ps_x4`) ELSE (`__ps_x4`) * CAST(IF(abs(`__ps_weight`) > 999999999, raise_error('weight out of range'), `__ps_weight`) AS DECIMAL(9,0)) END) AS DECIMAL(37,2)), 0) AS `__ps_d4_s` FROM `__ps_arguments_2` GROUP BY `g_2`
)
SELECT `g_2`, `__ps_count`, `__ps_d0_n`, `__ps_d1_n`, `__ps_d2_n`, `__ps_d2_s`, `__ps_d3_n`, `__ps_d3_s`, `__ps_d3_b`, `__ps_d4_n`, `__ps_d4_s` FROM `__ps_summed_3`;

-- fold: stored groups with the delta folded in
--   __ps_stored within g in __ps_step_1.g_2
WITH `__ps_folded_4` AS (
  SELECT d.`g_2`, coalesce(o.`__ps_count`, 0) + d.`__ps_count` AS `__ps_count`, CAST(coalesce(o.`__ps_s0_n`, 0) + d.`__ps_d0_n` AS BIGINT) AS `__ps_s0_n`, CAST(coalesce(o.`__ps_s1_n`, 0) + d.`__ps_d1_n` AS BIGINT) AS `__ps_s1_n`, CAST(coalesce(o.`__ps_s2_n`, 0) + d.`__ps_d2_n` AS BIGINT) AS `__ps_s2_n`, CAST(coalesce(o.`__ps_s2_s`, 0) + d.`__ps_d2_s` AS DECIMAL(38,0)) AS `__ps_s2_s`, CAST(coalesce(o.`__ps_s3_n`, 0) + d.`__ps_d3_n` AS BIGINT) AS `__ps_s3_n`, CAST(coalesce(o.`__ps_s3_s`, 0) + d.`__ps_d3_s` AS DECIMAL(38,0)) AS `__ps_s3_s`, CAST(coalesce(o.`__ps_s3_b`, 0) + d.`__ps_d3_b` AS DECIMAL(38,0)) AS `__ps_s3_b`, CAST(coalesce(o.`__ps_s4_n`, 0) + d.`__ps_d4_n` AS BIGINT) AS `__ps_s4_n`, CAST(coalesce(o.`__ps_s4_s`, 0) + d.`__ps_d4_s` AS DECIMAL(37,2)) AS `__ps_s4_s`, coalesce(coalesce(o.`__ps_s3_b`, 0) + d.`__ps_d3_b` >= 9007199254740992, FALSE) AS `__ps_stale`, o.`__ps_count` IS NOT NULL AS `__ps_there`, o.`g` AS `__ps_o0`, o.`c0` AS `__ps_o1`, o.`c1` AS `__ps_o2`, o.`c2` AS `__ps_o3`, o.`c3` AS `__ps_o4`, o.`c4` AS `__ps_o5`, o.`__ps_count` AS `__ps_o6`, o.`__ps_s0_n` AS `__ps_o7`, o.`__ps_s1_n` AS `__ps_o8`, o.`__ps_s2_n` AS `__ps_o9`, o.`__ps_s2_s` AS `__ps_o10`, o.`__ps_s3_n` AS `__ps_o11`, o.`__ps_s3_s` AS `__ps_o12`, o.`__ps_s3_b` AS `__ps_o13`, o.`__ps_s4_n` AS `__ps_o14`, o.`__ps_s4_s` AS `__ps_o15` FROM `__ps_step_1` d LEFT JOIN `__ps_stored` o ON (d.`g_2` <=> o.`g`)
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
--   __ps_after_default_t_6 within g in __ps_changed.g
--   __ps_stored_within_5 within g in __ps_changed.g
WITH `__ps_scan_10` AS (
  SELECT `g` AS `g_2`, `v` AS `v_3`, `d` AS `d_4` FROM `__ps_after_default_t_6`
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
FROM `__ps_stale_9` t LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_row_15`) n ON (t.`g_2` <=> n.`g`) LEFT JOIN (SELECT *, TRUE AS `__ps_there` FROM `__ps_stored_within_5`) o ON (t.`g_2` <=> o.`g`)
WHERE (coalesce(n.`__ps_there`, FALSE) AND NOT (coalesce(o.`__ps_there`, FALSE) AND (n.`g` <=> o.`g`) AND (n.`c0` <=> o.`c0`) AND (n.`c1` <=> o.`c1`) AND (n.`c2` <=> o.`c2`) AND ((CAST(n.`c3` AS STRING) <=> CAST(o.`c3` AS STRING)) AND (n.`c3` <=> o.`c3`)) AND (n.`c4` <=> o.`c4`) AND (n.`__ps_count` <=> o.`__ps_count`) AND (n.`__ps_s0_n` <=> o.`__ps_s0_n`) AND (n.`__ps_s1_n` <=> o.`__ps_s1_n`) AND (n.`__ps_s2_n` <=> o.`__ps_s2_n`) AND (n.`__ps_s2_s` <=> o.`__ps_s2_s`) AND (n.`__ps_s3_n` <=> o.`__ps_s3_n`) AND (n.`__ps_s3_s` <=> o.`__ps_s3_s`) AND (n.`__ps_s3_b` <=> o.`__ps_s3_b`) AND (n.`__ps_s4_n` <=> o.`__ps_s4_n`) AND (n.`__ps_s4_s` <=> o.`__ps_s4_s`))) OR (NOT coalesce(n.`__ps_there`, FALSE) AND coalesce(o.`__ps_there`, FALSE));
