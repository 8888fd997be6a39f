import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, readType, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { newUnknown } from '../unread-lines.ts';
import { GEMINI_TOOLS } from './reader.ts';

const STATS = [
  ['input_tokens', 'Input tokens'],
  ['output_tokens', 'Output tokens'],
  ['cached', 'Cached tokens'],
  ['total_tokens', 'Tokens'],
] as const;

interface GeminiStreamState {
  sessionId: string | null;
  model: string | null;
  /** Number of runs on the stream: each ends with figures of its own. */
  runCount: number;
}

/** Reads the output of `gemini --output-format stream-json`. It states the whole run's usage by model at the end. */
export function createGeminiStreamReader(
  context: ReaderContext,
  state: GeminiStreamState = { sessionId: null, model: null, runCount: 0 },
): Reader {
  const kit = createReaderKit(context, GEMINI_TOOLS);

  const readResult = (line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] => {
    const stats = kit.toUsagePart(line, 'stats');
    const models = Object.entries(kit.toUsagePart(stats, 'models') ?? {}).filter(([, figures]) =>
      isJsonObject(figures),
    );
    const figures = models.length > 0 ? models : stats === undefined ? [] : [[state.model ?? '', stats] as const];
    if (models.length > 0 && stats !== undefined)
      compareStats(
        stats,
        models.map(([, counts]) => readObject(counts) ?? {}),
      );
    const time = readText(line.timestamp) ?? String(state.runCount);
    return figures.flatMap(([model, counts]) => {
      const usage = toStreamUsage(readObject(counts) ?? {});
      const responseId = `gemini-run/${state.sessionId ?? ''}/${time}/${model}`;
      if (usage === undefined) return [];
      return [newUsageRecord({ usage, responseId, timestampMs, model: kit.toId(model), stopReason: 'stop' })];
    });
  };

  /** The figures of the run are the sums of its models'. */
  const compareStats = (stats: JsonObject, models: readonly JsonObject[]): void => {
    for (const [field, label] of STATS) {
      if (typeof stats[field] !== 'number') continue;
      const counted = models.reduce((sum, counts) => sum + kit.toCount(counts, field), 0);
      compareTotal(`${label} of the run`, kit.toCount(stats, field), counted, context);
    }
  };

  /**
   * `input_tokens` includes cached tokens; `output_tokens` lacks thoughts, which `total_tokens` includes.
   * https://github.com/google-gemini/gemini-cli packages/core/src/output/types.ts
   */
  const toStreamUsage = (stats: JsonObject) => {
    const input = kit.toCount(stats, 'input_tokens');
    const output = kit.toCount(stats, 'output_tokens');
    const cacheReadTokens = Math.min(kit.toCount(stats, 'cached'), input);
    const thinkingTokens = Math.max(0, kit.toCount(stats, 'total_tokens') - input - output);
    const inputTokens = input - cacheReadTokens;
    return toUsageIfAny({ inputTokens, outputTokens: output + thinkingTokens, cacheReadTokens, thinkingTokens });
  };

  const readEvent = (type: string, line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] => {
    switch (type) {
      case 'init':
        state.sessionId = kit.toId(line.session_id);
        state.model = kit.toId(line.model);
        state.runCount++;
        return [toSessionRecord({ sessionId: state.sessionId }) ?? []].flat();
      case 'message': {
        const content = readText(line.content) ?? '';
        if (line.role === 'user') return kit.toPromptRecords(content, { timestampMs }, null);
        return [newMessage('assistant', { timestampMs, model: state.model, blocks: kit.toBlocks(content) })];
      }
      case 'tool_use': {
        const blocks = kit.toToolUseBlocks({ id: line.tool_id, name: line.tool_name, input: line.parameters });
        return [newMessage('assistant', { timestampMs, model: state.model, blocks })];
      }
      case 'tool_result': {
        const content = line.output ?? readObject(line.error)?.message;
        const result = { id: line.tool_id, content, isError: line.status === 'error' };
        return [kit.toToolResultMessage(result, { timestampMs })];
      }
      case 'error':
        return [newMessage('system', { timestampMs, blocks: kit.toBlocks(readText(line.message) ?? '') })];
      case 'result':
        return readResult(line, timestampMs);
      default:
        return [newUnknown(type, line)];
    }
  };

  return {
    state,
    read(line, { arrivalMs }) {
      const type = readType(line.type);
      const timestampMs = kit.toTimeMs(line.timestamp) ?? arrivalMs;
      return { type, timestampMs, records: type === undefined ? [] : readEvent(type, line, timestampMs) };
    },
  };
}
