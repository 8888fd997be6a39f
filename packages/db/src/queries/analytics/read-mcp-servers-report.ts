import type { Database } from '../../database.ts';
import { sql } from '../../drizzle.cjs';
import type { ReportFilter } from './report-filter.ts';
import { type ReportPage, type ReportRows, readGroups } from './report-groups.ts';
import {
  CALL_AGGREGATES,
  type CallFigures,
  type CallSums,
  TOOL_ROLLUP_SOURCE,
  toCallFigures,
} from './tool-call-figures.ts';

export interface McpServerFigures extends CallFigures {
  /** Different tools called. */
  tools: number;
}

/** Calls to MCP servers. */
export async function readMcpServersReport(
  database: Database,
  filter: ReportFilter,
  page: Pick<ReportPage, 'limit'>,
): Promise<ReportRows<McpServerFigures & { mcp_server: string }, CallFigures & { mcp_servers: number }>> {
  const { rows, totals, truncated, groupCount } = await readGroups<
    CallSums & { tools: number },
    McpServerFigures,
    { mcp_server: string }
  >(database, filter, page, {
    parts: [
      {
        source: TOOL_ROLLUP_SOURCE,
        table: sql`recount.tool_rollup AS r`,
        keys: { mcp_server: sql`r.mcp_server` },
        columns: {
          session_id: sql`r.session_id`,
          tool_name: sql`r.tool_name`,
          calls: sql`r.calls`,
          results: sql`r.results`,
          errors: sql`r.errors`,
          denied: sql`r.denied`,
          output_bytes: sql`r.output_bytes`,
        },
        where: sql`r.mcp_server IS NOT NULL`,
      },
    ],
    aggregates: { ...CALL_AGGREGATES, tools: sql`count(DISTINCT tool_name)::float8` },
    order: sql`calls DESC`,
    toFigures: (sums) => ({ tools: sums.tools, ...toCallFigures(sums) }),
  });
  return { rows, totals: { mcp_servers: groupCount, ...totals }, truncated };
}
