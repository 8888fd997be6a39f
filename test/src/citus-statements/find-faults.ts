import type { Client } from 'pg';

/** The fields of a plan node, from `EXPLAIN (FORMAT JSON)`, that the checks need. */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Subplan Name'?: string;
  'CTE Name'?: string;
  'Index Cond'?: string;
  'Recheck Cond'?: string;
  Filter?: string;
  'One-Time Filter'?: string;
  Plans?: PlanNode[];
}

/** The workspace is compared with a value known before anything is read; it has a cast if it came from a join. */
const HOLDS_WORKSPACE = /^\(*(?:\w+\.)?workspace_id = \(?(?:\$\d+|'[^']*'::text)/;
/** The hint for the planner that `adaptToCitus` removes on a cluster. */
const OPAQUE_WORKSPACE_ID = /\(SELECT (\$\d+::text)\)/g;
/** Citus refuses expressions in an update that might differ between nodes. */
const CLOCK_IN_UPSERT =
  /\bDO UPDATE\s+SET\b(?:(?!\bRETURNING\b)[\s\S])*\b(?:now\(\)|current_timestamp|clock_timestamp\(\))/i;
/** As this may differ between nodes, Citus refuses it even where only one is concerned. */
const VOLATILE_IN_UPDATE = /^\s*UPDATE\b[\s\S]*\b(?:clock_timestamp|random|gen_random_uuid)\(/i;
/** Citus asks the clock before it sends a change to the nodes, and refuses what a node would have to ask. */
const CLOCK_IN_CASE = /\b(?:COALESCE|CASE)\b[\s\S]*\bnow\(\)/;
/** As the plan writes it, with spaces around the operator. Only the clock may have an interval added in a change. */
const INTERVAL_ON_COLUMN = /\(\w+ [-+] [^<>=]*\binterval\b/;
/** It would be taken on the node; the other programs take it on the coordinator. */
const ADVISORY_LOCK = /\bpg_(?:try_)?advisory_/i;
/** Nodes know the table by the name of a shard; Citus gives it an alias by itself only if there is an ON CONFLICT. */
const RETURNS_FROM_TABLE_WITHOUT_ALIAS =
  /^\s*INSERT INTO\s+\S+\s*\([^)]*\)\s*(?:SELECT|WITH)\b(?![\s\S]*\bON CONFLICT\b)[\s\S]*\bRETURNING\b/i;
/** Citus puts a part that is read once in the place of its name, and then knows its columns only by their names inside. */
const NAMES_COLUMNS_OF_PART =
  /(?:\bWITH|,)\s+\w+\s*\([^()]*\)\s+AS\s+(?:NOT\s+MATERIALIZED\s+)?\(\s*(?:SELECT|WITH)\b/i;

/** Undefined for temporary tables, which cannot be distributed. */
const UNDEFINED_TABLE = '42P01';

const IS_QUERY = /^\s*(?:\(|select|insert|update|delete|with|merge)/i;
/** The text before the query of a cursor. */
const CURSOR = /^\s*DECLARE\s[^(]*?\sCURSOR\s[^(]*?FOR\b/i;

const listNodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(listNodes)];

/** Splits a condition at the operator, outside all parentheses. */
function splitCondition(condition: string, operator: ' AND ' | ' OR '): string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (let index = 0; index < condition.length; index++) {
    if (condition[index] === '(') depth += 1;
    if (condition[index] === ')') depth -= 1;
    if (depth === 0 && condition.startsWith(operator, index)) {
      parts.push(condition.slice(start, index));
      start = index + operator.length;
    }
  }
  return [...parts, condition.slice(start)];
}

/** True if the condition only holds for rows of one workspace. */
function isOfWorkspace(condition: string): boolean {
  const alternatives = splitCondition(condition, ' OR ');
  if (alternatives.length > 1) return alternatives.every(isOfWorkspace);
  const parts = splitCondition(condition, ' AND ');
  if (parts.length > 1) return parts.some(isOfWorkspace);
  const isGroup = condition.startsWith('(') && condition.endsWith(')') && / (?:AND|OR) /.test(condition);
  return isGroup ? isOfWorkspace(condition.slice(1, -1)) : HOLDS_WORKSPACE.test(condition);
}

function holdsWorkspace(node: PlanNode): boolean {
  const conditions = [node['Index Cond'], node['Recheck Cond'], node.Filter];
  if (conditions.some((condition) => condition !== undefined && isOfWorkspace(condition))) return true;
  const bitmaps = (node.Plans ?? []).filter((part) => part['Node Type'].startsWith('Bitmap'));
  return node['Node Type'] === 'BitmapOr'
    ? bitmaps.length > 0 && bitmaps.every(holdsWorkspace)
    : bitmaps.some(holdsWorkspace);
}

/**
 * Parts of a WITH that depend on each other, where one changes distributed rows. Postgres runs all on one snapshot; Citus
 * runs them one after another, so that later ones see earlier changes.
 */
function listDependencies(root: PlanNode, distributedTables: ReadonlySet<string>): string[] {
  const nodes = listNodes(root);
  const changes = nodes.filter(
    (node) => node['Node Type'] === 'ModifyTable' && distributedTables.has(node['Relation Name'] ?? ''),
  );
  const found: string[] = [];
  for (const change of changes) {
    const own = new Set(listNodes(change));
    const others = nodes.filter((node) => !own.has(node));
    const table = change['Relation Name'];
    if (table !== undefined && others.some((node) => node['Relation Name'] === table)) {
      found.push(`changes ${table} in one part of a WITH, and reads or changes it in another`);
    }
    const part = change['Subplan Name']?.replace(/^CTE /, '');
    if (part !== undefined && nodes.some((node) => node['CTE Name'] === part) && changes.length > 1) {
      found.push(`needs what another part of its WITH changes: ${part}`);
    }
  }
  return found;
}

/** Conditions of a change that Citus refuses, of a replicated table too. */
function listClockConditions(root: PlanNode, spreadTables: ReadonlySet<string>): string[] {
  const changes = listNodes(root).filter(
    (node) => node['Node Type'] === 'ModifyTable' && spreadTables.has(node['Relation Name'] ?? ''),
  );
  const conditions = changes
    .flatMap(listNodes)
    .flatMap((node) => [node.Filter, node['Index Cond'], node['Recheck Cond']])
    .filter((condition) => condition !== undefined);
  return [
    ...(conditions.some((condition) => CLOCK_IN_CASE.test(condition))
      ? ['asks the clock in CASE or coalesce of a change: write OR, or read in a statement before it']
      : []),
    ...(conditions.some((condition) => INTERVAL_ON_COLUMN.test(condition))
      ? ['adds an interval to a column in the condition of a change: subtract it from the clock']
      : []),
  ];
}

/** Citus sends such a part to a node with the name of the table, which the node then takes for all of its shards. */
function listEmptyChanges(root: PlanNode, distributedTables: ReadonlySet<string>): string[] {
  return listNodes(root)
    .filter(
      (node) =>
        node['Node Type'] === 'ModifyTable' &&
        node['Subplan Name'] !== undefined &&
        distributedTables.has(node['Relation Name'] ?? '') &&
        node.Plans?.some((part) => part['One-Time Filter'] === 'false'),
    )
    .map((node) => `changes no row of ${node['Relation Name']} in a part of a WITH: leave the part out`);
}

export interface FaultOptions {
  distributedTables: ReadonlySet<string>;
  /** The distributed ones, and those that every node has a copy of. */
  spreadTables: ReadonlySet<string>;
  /** True if the statement may query all nodes. */
  asksAllNodes: boolean;
}

/**
 * Parts of a statement that a Citus cluster would refuse or run differently from a single server, judging by Postgres's
 * plan without parameters.
 */
export async function findFaults(client: Client, statement: string, options: FaultOptions): Promise<string[]> {
  const text = statement.replace(CURSOR, '');
  if (!IS_QUERY.test(text)) return [];
  let root: PlanNode;
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text.replace(OPAQUE_WORKSPACE_ID, '$1')}`,
    );
    root = (rows[0] as { 'QUERY PLAN': [{ Plan: PlanNode }] })['QUERY PLAN'][0].Plan;
  } catch (error) {
    if ((error as { code?: string }).code === UNDEFINED_TABLE) return [];
    return [`cannot be planned: ${(error as Error).message}`];
  }
  const nodes = listNodes(root);
  const unheld = nodes.filter(
    (node) =>
      node['Node Type'] !== 'ModifyTable' &&
      options.distributedTables.has(node['Relation Name'] ?? '') &&
      !holdsWorkspace(node),
  );
  const locks = nodes.some((node) => node['Node Type'] === 'LockRows');
  const changesDistributed = nodes.some(
    (node) => node['Node Type'] === 'ModifyTable' && options.distributedTables.has(node['Relation Name'] ?? ''),
  );
  const isOfNodes = nodes.some((node) => options.distributedTables.has(node['Relation Name'] ?? ''));
  const mayAskAll = options.asksAllNodes && !locks;
  return [
    ...(mayAskAll
      ? []
      : unheld.map(
          (node) =>
            `reads ${node['Relation Name']} without comparing workspace_id with a parameter${locks ? ', and locks rows' : ''}`,
        )),
    ...(changesDistributed && CLOCK_IN_UPSERT.test(text)
      ? ['asks the clock in DO UPDATE: take the value of `excluded`']
      : []),
    ...(changesDistributed && RETURNS_FROM_TABLE_WITHOUT_ALIAS.test(text)
      ? ['returns columns of an INSERT with a query: give its table an alias, and name them by it']
      : []),
    ...(changesDistributed && VOLATILE_IN_UPDATE.test(text)
      ? ['asks the clock or chance in an UPDATE: ask in a statement before it']
      : []),
    ...(isOfNodes && ADVISORY_LOCK.test(text)
      ? ['takes an advisory lock where it reads a table: lock in a separate statement']
      : []),
    ...(isOfNodes && NAMES_COLUMNS_OF_PART.test(text)
      ? ['names the columns of a part of a WITH beside its name: name them inside, or add MATERIALIZED']
      : []),
    ...listClockConditions(root, options.spreadTables),
    ...listEmptyChanges(root, options.distributedTables),
    ...listDependencies(root, options.distributedTables),
  ];
}
