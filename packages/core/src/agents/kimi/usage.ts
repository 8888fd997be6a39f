import type { JsonObject } from '../../lines/json.ts';
import type { Usage } from '../../records/usage.ts';
import { type ReaderKit, toUsageIfAny } from '../reader-kit.ts';
import { reportUnknownCounts } from '../unread-lines.ts';

const CODE_FIELDS = ['inputOther', 'output', 'inputCacheRead', 'inputCacheCreation'] as const;
const CLI_FIELDS = ['input_other', 'output', 'input_cache_read', 'input_cache_creation'] as const;

/** The classes do not overlap: `inputOther` is what was neither read from the cache nor written to it. */
function toKimiUsage(
  kit: ReaderKit,
  source: JsonObject | undefined,
  fields: readonly [string, string, string, string],
): Usage | undefined {
  reportUnknownCounts(source, new Set(fields), kit);
  const [other, output, read, written] = fields;
  return toUsageIfAny({
    inputTokens: kit.toCount(source, other),
    outputTokens: kit.toCount(source, output),
    cacheReadTokens: kit.toCount(source, read),
    cacheWriteTokens: kit.toCount(source, written),
  });
}

/** Usage of Kimi Code; undefined if there is none. */
export const readCodeUsage = (kit: ReaderKit, source: JsonObject | undefined): Usage | undefined =>
  toKimiUsage(kit, source, CODE_FIELDS);

/** `token_usage` of Kimi CLI; undefined if there is none. */
export const readCliUsage = (kit: ReaderKit, source: JsonObject | undefined): Usage | undefined =>
  toKimiUsage(kit, source, CLI_FIELDS);
