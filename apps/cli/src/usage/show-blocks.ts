import { styleText } from 'node:util';
import { toUsageFigures } from '@recount/core';
import { addUp, listBlocks, type UsageBlock } from '@recount/usage';
import { REPORT_KINDS } from '../report/report-kinds.ts';
import { formatReportTable } from '../report/report-table.ts';
import { type CliContext, printJson, printStyled } from '../terminal/cli-context.ts';
import { toTerminalText } from '../terminal/guard-terminal.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { readLedger, toScope } from './read-ledger.ts';
import { resolveFilter } from './resolve-filter.ts';
import { toUsageAnswer } from './usage-answer.ts';
import type { BlocksOptions } from './usage-options.ts';

const RECENT_MS = 3 * 24 * 60 * 60_000;
const HOUR_MS = 60 * 60_000;

/** `recount usage blocks` */
export async function showBlocks(context: CliContext, paths: readonly string[], options: BlocksOptions): Promise<void> {
  const { clock, filter: asked } = toScope(context, options);
  const ledger = await readLedger(context, paths, options);
  const filter = resolveFilter(ledger, asked);
  const nowMs = Date.now();
  const isShown = ({ start, end }: UsageBlock): boolean =>
    (!options.active || Date.parse(end) > nowMs) && (!options.recent || Date.parse(start) > nowMs - RECENT_MS);
  const blocks = listBlocks(ledger, filter)
    .filter(({ block }) => isShown(block))
    .slice(-(options.limit ?? Number.MAX_SAFE_INTEGER));
  const rows = blocks.map(({ block }) => ({ ...block, ...toProjection(block, nowMs) }));
  if (options.json) return printJson(context, { time_zone: clock.timeZone, rows });
  if (options.csv) {
    const { toReportCsv } = await import('../report/report-csv.ts');
    context.stdout.write(toReportCsv(rows));
    return;
  }
  const kind = REPORT_KINDS.find(({ name }) => name === 'blocks');
  if (kind === undefined) throw new TypeError('There is no report blocks');
  const totals = { sessions: 0, own: toUsageFigures(addUp(blocks.map(({ sums }) => sums))), shared: { responses: 0 } };
  const sessions = { without_usage: 0, output_only: 0 };
  const disagreements = { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 };
  const report = {
    rows: [],
    totals,
    unpricedModels: [],
    unpricedTerms: [],
    priceDate: ledger.priceDate,
    sessions,
    withoutTimestamp: 0,
    disagreements,
  };
  const answer = { ...toUsageAnswer(report, [], { clock, filter }), rows, totals: { ...totals.own } };
  for (const { text, style } of formatReportTable(kind, answer, { maxWidth: toPrintWidth(context) })) {
    const line = toTerminalText(text);
    printStyled(context, style === undefined ? line : styleText(style, line, { stream: context.stdout }));
  }
}

/** Projected total of a block that has not ended, at its current rate. */
function toProjection(block: UsageBlock, nowMs: number) {
  const [startMs, endMs] = [Date.parse(block.start), Date.parse(block.end)];
  const isActive = nowMs >= startMs && nowMs < endMs;
  if (!isActive) return { is_active: false, remaining_ms: null, cost_usd_per_hour: null, projected_cost_usd: null };
  const rate = block.cost_usd === null ? null : block.cost_usd / Math.max((nowMs - startMs) / HOUR_MS, 1 / 60);
  return {
    is_active: true,
    remaining_ms: endMs - nowMs,
    cost_usd_per_hour: rate,
    projected_cost_usd:
      rate === null || block.cost_usd === null ? null : block.cost_usd + (rate * (endMs - nowMs)) / HOUR_MS,
  };
}
