import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import type { Reader, ReaderContext, ReaderLine, ReadLine } from '../agent.ts';
import { compareTotal } from '../compare-total.ts';
import { createReaderKit, readType, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
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
  /** Number of runs on the stream. Each ends with its own figures. */
  runCount: number;
}

/** Reads the output of `gemini --output-format stream-json`. It states the whole run's usage by model at the end. */
export function createGeminiStreamReader(
  context: ReaderContext,
  state: GeminiStreamState = { sessionId: null, model: null, runCount: 0 },
): Reader {
  return new GeminiStreamReader(context, state);
}

class GeminiStreamReader extends StatefulReader<GeminiStreamState> {
  readonly #kit = createReaderKit(this.context, GEMINI_TOOLS);

  read(line: JsonObject, { arrivalMs }: ReaderLine): ReadLine {
    const type = readType(line.type);
    const timestampMs = this.#kit.toTimeMs(line.timestamp) ?? arrivalMs;
    return { type, timestampMs, records: type === undefined ? [] : this.#readEvent(type, line, timestampMs) };
  }

  #readResult(line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const stats = this.#kit.toUsagePart(line, 'stats');
    const models = Object.entries(this.#kit.toUsagePart(stats, 'models') ?? {}).filter(([, figures]) =>
      isJsonObject(figures),
    );
    const figures = models.length > 0 ? models : stats === undefined ? [] : [[this.state.model ?? '', stats] as const];
    if (models.length > 0 && stats !== undefined)
      this.#compareStats(
        stats,
        models.map(([, counts]) => readObject(counts) ?? {}),
      );
    const time = readText(line.timestamp) ?? String(this.state.runCount);
    return figures.flatMap(([model, counts]) => {
      const usage = this.#toStreamUsage(readObject(counts) ?? {});
      const responseId = `gemini-run/${this.state.sessionId ?? ''}/${time}/${model}`;
      if (usage === undefined) return [];
      return [newUsageRecord({ usage, responseId, timestampMs, model: this.#kit.toId(model), stopReason: 'stop' })];
    });
  }

  /** The figures of the run are the sums of its models'. */
  #compareStats(stats: JsonObject, models: readonly JsonObject[]): void {
    for (const [field, label] of STATS) {
      if (typeof stats[field] !== 'number') continue;
      const counted = models.reduce((sum, counts) => sum + this.#kit.toCount(counts, field), 0);
      compareTotal(`${label} of the run`, this.#kit.toCount(stats, field), counted, this.context);
    }
  }

  /**
   * `input_tokens` includes cached tokens; `output_tokens` lacks thoughts, which `total_tokens` includes.
   * https://github.com/google-gemini/gemini-cli packages/core/src/output/types.ts
   */
  #toStreamUsage(stats: JsonObject) {
    const input = this.#kit.toCount(stats, 'input_tokens');
    const output = this.#kit.toCount(stats, 'output_tokens');
    const cacheReadTokens = Math.min(this.#kit.toCount(stats, 'cached'), input);
    const thinkingTokens = Math.max(0, this.#kit.toCount(stats, 'total_tokens') - input - output);
    const inputTokens = input - cacheReadTokens;
    return toUsageIfAny({ inputTokens, outputTokens: output + thinkingTokens, cacheReadTokens, thinkingTokens });
  }

  #readEvent(type: string, line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    switch (type) {
      case 'init':
        this.state.sessionId = this.#kit.toId(line.session_id);
        this.state.model = this.#kit.toId(line.model);
        this.state.runCount++;
        return [toSessionRecord({ sessionId: this.state.sessionId }) ?? []].flat();
      case 'message': {
        const content = readText(line.content) ?? '';
        if (line.role === 'user') return this.#kit.toPromptRecords(content, { timestampMs }, null);
        return [newMessage('assistant', { timestampMs, model: this.state.model, blocks: this.#kit.toBlocks(content) })];
      }
      case 'tool_use': {
        const blocks = this.#kit.toToolUseBlocks({ id: line.tool_id, name: line.tool_name, input: line.parameters });
        return [newMessage('assistant', { timestampMs, model: this.state.model, blocks })];
      }
      case 'tool_result': {
        const content = line.output ?? readObject(line.error)?.message;
        const result = { id: line.tool_id, content, isError: line.status === 'error' };
        return [this.#kit.toToolResultMessage(result, { timestampMs })];
      }
      case 'error':
        return [newMessage('system', { timestampMs, blocks: this.#kit.toBlocks(readText(line.message) ?? '') })];
      case 'result':
        return this.#readResult(line, timestampMs);
      default:
        return [newUnknown(type, line)];
    }
  }
}
