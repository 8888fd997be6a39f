import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { type ClusterNode, listNodes, runOnNode, toNodeName, tryNodes } from './cluster.ts';
import type { DatabasePool } from './database.ts';
import {
  LIST_RELATIONS,
  MAX_FAULTS_PER_RELATION,
  type Relation,
  RelationCheckError,
  type RelationFault,
} from './relations.ts';

/** Relations in one command. Each command costs a node a connection. */
const RELATIONS_PER_COMMAND = 50;

/**
 * Reads every table and B-tree index of each node of a cluster but the coordinator, with the amcheck that is there in
 * `schema`. Yields nothing without a cluster.
 * @throws RelationCheckError if a node does not answer, has no amcheck, or this user may not use it there
 */
export async function* checkNodes(
  database: DatabasePool,
  schema: string,
  signal?: AbortSignal,
): AsyncGenerator<RelationFault> {
  const nodes = (await listNodes(database.database)).filter(({ isCoordinator }) => !isCoordinator);
  for (const node of nodes) {
    const relations = await listRelationsOf(database, node);
    for (let start = 0; start < relations.length; start += RELATIONS_PER_COMMAND) {
      signal?.throwIfAborted();
      yield* await checkOnNode(database, node, schema, relations.slice(start, start + RELATIONS_PER_COMMAND));
    }
  }
}

async function listRelationsOf({ database }: DatabasePool, node: ClusterNode): Promise<Relation[]> {
  const query = `SELECT coalesce(json_agg(r), '[]') FROM (${LIST_RELATIONS}) AS r`;
  const { success, result } = await runOnNode(database, node, query);
  if (!success) throw new RelationCheckError(`the node ${toNodeName(node)} does not answer (${result})`);
  return JSON.parse(result) as Relation[];
}

/** One value, the faults of tables as JSON; a fault of an index is an error. */
function toCommand(schema: string, relations: readonly Relation[]): string {
  const amcheck = pg.escapeIdentifier(schema);
  const list = (isTable: boolean): string => {
    const oids = relations.flatMap(({ oid, method }) => ((method === 'heap') === isTable ? [Number(oid)] : []));
    return `unnest(ARRAY[${oids.join(', ')}]::oid[]) AS r (oid)`;
  };
  return `
    SELECT json_build_object(
      'faults', (SELECT coalesce(json_agg(json_build_object('oid', r.oid::text, 'reason', f.msg)), '[]')
        FROM ${list(true)}, LATERAL (
          SELECT msg FROM ${amcheck}.verify_heapam(r.oid::regclass, check_toast => true) LIMIT ${MAX_FAULTS_PER_RELATION}
        ) AS f),
      'indexes', (SELECT max(${amcheck}.bt_index_check(r.oid::regclass, true)::text) FROM ${list(false)}))`;
}

async function checkOnNode(
  database: DatabasePool,
  node: ClusterNode,
  schema: string,
  relations: readonly Relation[],
): Promise<RelationFault[]> {
  const { success, result } = await runOnNode(database.database, node, toCommand(schema, relations));
  const toPlace = ({ name }: Relation): string => `${name} at ${toNodeName(node)}`;
  if (success) {
    const { faults } = JSON.parse(result) as { faults: { oid: string; reason: string }[] };
    return faults.flatMap(({ oid, reason }) => {
      const relation = relations.find((each) => each.oid === oid);
      return relation === undefined ? [] : [{ relation: toPlace(relation), reason }];
    });
  }
  const kind = classifyFailure(result);
  // A damaged index may end the server's process, and then all others of the node restart.
  if (kind === 'lost') await waitForNode(database, node);
  const [only] = relations;
  if (relations.length > 1 || only === undefined) {
    const faults: RelationFault[] = [];
    for (const relation of relations) faults.push(...(await checkOnNode(database, node, schema, [relation])));
    return faults;
  }
  if (kind === 'dropped') return [];
  if (kind === 'unusable') {
    throw new RelationCheckError(
      `the node ${toNodeName(node)} has no amcheck that this user may use (${result}); let a superuser run CREATE EXTENSION amcheck on the coordinator`,
    );
  }
  const reason = kind === 'lost' ? `reading it ends the server's process (${result})` : result;
  return [{ relation: toPlace(only), reason }];
}

/** Reads the message of a node's failure, in English as nodes of a cluster speak it. */
export function classifyFailure(message: string): 'dropped' | 'unusable' | 'lost' | 'damaged' {
  if (/^(?:function|schema) .*does not exist|^permission denied|^must be /.test(message)) return 'unusable';
  if (/^could not open relation with OID|^relation .*does not exist/.test(message)) return 'dropped';
  if (/server closed the connection|terminating connection|connection .*(?:lost|closed|failed)|refused/.test(message))
    return 'lost';
  return 'damaged';
}

const RESTART_TIMEOUT_MS = 60_000;
const RETRY_MS = 500;

async function waitForNode(database: DatabasePool, node: ClusterNode): Promise<void> {
  for (const startMs = performance.now(); ; await setTimeout(RETRY_MS)) {
    const [answer] = await tryNodes(database, [node], 'SELECT 1');
    if (answer?.fault == null) return;
    if (performance.now() - startMs > RESTART_TIMEOUT_MS) {
      throw new RelationCheckError(`the node ${toNodeName(node)} does not answer any more (${answer.fault})`);
    }
  }
}
