import { toReportedTotals } from '../../records/claude-code/reported-totals.ts';
import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import { toUsage } from '../../usage/usage.ts';
import { toBooleanField, toNumberField, toTextField, withNumberFields } from '../coerce-fields.ts';
import { type TokenCounts, toTokenCounts } from '../token-counts.ts';
import type { ClaudeState } from './claude-state.ts';
import type { LineContext } from './line-context.ts';
import { toUsageShape } from './line-shape.ts';
import { toDenialPrompt } from './prompts.ts';

const COST_FIELDS = ['total_cost_usd', 'cost_usd', 'costUSD'] as const;

/** A result line: what still waited comes first, then what was not permitted, then the result. */
export function readResult(state: ClaudeState, line: JsonObject, { event, report }: LineContext): void {
  state.giveWaiting(event);
  const denials = Array.isArray(line.permission_denials) ? line.permission_denials : [];
  for (const denial of denials) state.raisePrompt(toDenialPrompt(denial), event);
  const { summary } = state;
  const reported = toReportedTotals(withNumberFields(line, COST_FIELDS, 'result', report), 'result');
  if (reported !== undefined) {
    summary.costUsd = reported.cost_usd;
    summary.reportedTokens = toReportedTokens(reported) ?? summary.reportedTokens;
  }
  const subtype = toTextField(line.subtype, 'subtype', report);
  const isError = toBooleanField(line.is_error, 'is_error', report) ?? false;
  const success = !isError && (subtype === null || subtype === 'success');
  summary.lastResult = { success, error: success ? null : toErrorCode(subtype, line) };
  summary.stopReason = toTextField(line.stop_reason, 'stop_reason', report) ?? summary.stopReason;
  const usage = readObject(line.usage);
  state.give({
    ...event,
    type: 'result',
    success,
    subtype,
    text: readText(line.result) ?? readText(line.error) ?? toErrorsText(line.errors),
    durationMs: toNumberField(line.duration_ms, 'duration_ms', report),
    tokens: usage ? toTokenCounts(toUsage(toUsageShape(usage, report), () => report('invalid_field', 'usage'))) : null,
    costUsd: reported?.cost_usd ?? null,
  });
}

function toReportedTokens(reported: NonNullable<ReturnType<typeof toReportedTotals>>): TokenCounts | null {
  const { tokens_in, tokens_out, cache_read, cache_write } = reported;
  if (tokens_in === null && tokens_out === null) return null;
  return { input: tokens_in ?? 0, output: tokens_out ?? 0, cacheRead: cache_read ?? 0, cacheWrite: cache_write ?? 0 };
}

/** Some failures are called a success and tell the API's status only. */
function toErrorCode(subtype: string | null, line: JsonObject): string | null {
  if (subtype !== null && subtype !== 'success') return subtype;
  return typeof line.api_error_status === 'number' ? `API error ${line.api_error_status}` : null;
}

function toErrorsText(errors: JsonValue | undefined): string | null {
  const texts = Array.isArray(errors) ? errors.filter((error) => typeof error === 'string') : [];
  return texts.length === 0 ? null : texts.join('\n');
}
