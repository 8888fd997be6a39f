import type { ReportBody } from '@recount/contract';
import type { Database } from '../database/database.ts';
import { sql } from '../drizzle.cjs';
import type { ReportFilter } from '../filters/report-filter.ts';
import type { GroupPart } from './group-part.ts';
import { type ReportPage, readGroups } from './report-groups.ts';
import { CALL_SUMS, type CallFigures, type CallSums, ROLLED_UP_CALLS, toCallFigures } from './tool-call-figures.ts';

type McpServerFigures = CallFigures & { tools: number };

const CALLS: GroupPart = {
  ...ROLLED_UP_CALLS,
  keys: { mcp_server: sql`r.mcp_server` },
  groupedColumns: ['tool_name'],
  columns: { tool_name: sql`r.tool_name`, ...ROLLED_UP_CALLS.columns },
  where: sql`r.mcp_server IS NOT NULL`,
  counted: 'mcp_servers',
};

/** Calls to MCP servers. */
export async function readMcpServersReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportBody<'mcp-servers'>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    CallSums & { tools: number },
    McpServerFigures,
    { mcp_server: string }
  >(database, filter, page, {
    parts: [CALLS],
    countsSessions: true,
    aggregates: { ...CALL_SUMS, tools: sql`count(DISTINCT tool_name)::float8` },
    order: sql`calls DESC`,
    toFigures: (sums) => ({ tools: sums.tools, ...toCallFigures(sums) }),
  });
  return { rows, totals: { mcp_servers: groupCount, ...totals }, truncated };
}
