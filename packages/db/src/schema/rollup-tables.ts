import { USAGE_SUMS } from '@recount/core';
import type { PgTable } from '../drizzle.cjs';
import {
  fileDayRollup,
  fileKey,
  fileSums,
  messageAttributionTotal,
  messageDayRollup,
  messageHourTotal,
  messageKey,
  messageRollup,
  messageSums,
  toolDayRollup,
  toolDayTotal,
  toolKey,
  toolLists,
  toolSums,
  usageAttributionTotal,
  usageDayRollup,
  usageHourTotal,
  usageKey,
  usageRollup,
  usageTotalKey,
} from './rollups.ts';

/** Sums over all sessions of a workspace, and over the sessions of each agent, project, repository, person and machine. */
export const TOTALS_KINDS = ['whole', 'attributed'] as const;
export type TotalsKind = (typeof TOTALS_KINDS)[number];

export interface Totals {
  table: PgTable;
  keys: readonly string[];
}

interface Rollup {
  /** Rows by 15-minute buckets. Tools and files have none except the calls themselves, which are hardly more. */
  buckets?: PgTable;
  /** The same by UTC days. */
  days: PgTable;
  /** Sums of them over sessions. Roll-ups of files have none. */
  totals?: Partial<Record<TotalsKind, Totals>>;
  /** Keys of rows in addition to session and time. */
  keys: readonly string[];
  /** Columns that are summed or concatenated. */
  sums: readonly string[];
  lists: readonly string[];
}

const names = <Name extends string>(columns: Record<Name, unknown>): Name[] => Object.keys(columns) as Name[];

/** The length of time that a row of a roll-up's totals, or of the counts of its sessions, covers. */
export const toTotalUnit = ({ buckets }: Rollup, kind: TotalsKind = 'whole'): 'hour' | 'day' =>
  buckets === undefined || kind === 'attributed' ? 'day' : 'hour';

/** All roll-ups, by the prefix of their tables' names. */
export const ROLLUPS: Record<'usage' | 'tool' | 'file' | 'message', Rollup> = {
  usage: {
    buckets: usageRollup,
    days: usageDayRollup,
    keys: names(usageKey()),
    sums: USAGE_SUMS,
    lists: [],
    totals: {
      whole: { table: usageHourTotal, keys: names(usageTotalKey()) },
      attributed: { table: usageAttributionTotal, keys: names(usageTotalKey()) },
    },
  },
  tool: {
    days: toolDayRollup,
    keys: names(toolKey()),
    sums: names(toolSums()),
    lists: names(toolLists()),
    totals: { whole: { table: toolDayTotal, keys: names(toolKey()) } },
  },
  file: { days: fileDayRollup, keys: names(fileKey()), sums: names(fileSums()), lists: [] },
  message: {
    buckets: messageRollup,
    days: messageDayRollup,
    keys: names(messageKey()),
    sums: names(messageSums()),
    lists: [],
    totals: {
      whole: { table: messageHourTotal, keys: names(messageKey()) },
      attributed: { table: messageAttributionTotal, keys: names(messageKey()) },
    },
  },
};
export type RollupName = keyof typeof ROLLUPS;

interface CountedSessions {
  rollup: 'usage' | 'tool' | 'file';
  /** The rows that count, as a condition in SQL. */
  where: string;
  /**
   * The report key that sessions are also counted by, and its column. Undefined means that they are only counted in
   * total.
   */
  key: string | undefined;
  column: string | undefined;
}

/**
 * The counts of sessions. Each is stored in total and by its key. Roll-ups of files have no totals, but their rows are
 * of tool calls, so a writer that changes them marks these days as stale.
 */
export const SESSION_TOTALS = {
  usage: { rollup: 'usage', where: 'true', key: 'model', column: 'model' },
  credited: { rollup: 'usage', where: 'NOT r.is_shared', key: 'model', column: 'model' },
  calls: { rollup: 'tool', where: 'true', key: 'tool', column: 'tool_name' },
  programs: { rollup: 'tool', where: 'r.program IS NOT NULL', key: 'program', column: 'program' },
  mcp_servers: { rollup: 'tool', where: 'r.mcp_server IS NOT NULL', key: 'mcp_server', column: 'mcp_server' },
  files: { rollup: 'file', where: 'true', key: undefined, column: undefined },
} as const satisfies Record<string, CountedSessions>;

export type SessionTotalName = keyof typeof SESSION_TOTALS;
