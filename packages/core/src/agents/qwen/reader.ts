import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Usage } from '../../usage/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { toApiBlocks, toText } from '../gemini/parts.ts';
import { GEMINI_TOOLS } from '../gemini/reader.ts';
import { newMessage } from '../new-records.ts';
import { createReaderKit, type ReaderKit, readType, toCutTitle, toSessionRecord, toUsageIfAny } from '../reader-kit.ts';
import type { BlockContent, MessageRecord, TranscriptRecord } from '../records.ts';

interface QwenReaderState {
  /** The last line that was a response. Lines directly after it with the same usage belong to the same response. */
  last: { uuid: string; promptTokens: number; responseId: string } | undefined;
  branch: string | null;
  version: string | null;
}

/**
 * Reads session files of Qwen Code: lines that form a tree by `uuid` and `parentUuid`, with messages of the Gemini API.
 */
export function createQwenReader(
  context: ReaderContext,
  state: QwenReaderState = { last: undefined, branch: null, version: null },
): Reader {
  const kit = createReaderKit(context, GEMINI_TOOLS);

  const readAssistant = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const parts = readObject(line.message)?.parts;
    const blocks = (Array.isArray(parts) ? parts : []).flatMap((part): BlockContent[] => {
      const block = readObject(part);
      const call = readObject(block?.functionCall);
      if (call !== undefined) return kit.toToolUseBlocks({ id: call.id, name: call.name, input: call.args });
      if (block?.thought === true) return kit.toBlocks([{ type: 'thinking', thinking: block.text ?? '' }]);
      return kit.toBlocks(toApiBlocks([part]));
    });
    const tokens = readObject(line.usageMetadata);
    const usage = tokens && toQwenUsage(tokens, kit);
    const promptTokens = tokens === undefined ? 0 : kit.toCount(tokens, 'promptTokenCount');
    const uuid = base.uuid ?? null;
    const responseId = toResponseId(line, uuid, promptTokens);
    if (uuid !== null) state.last = { uuid, promptTokens, responseId: responseId ?? uuid };
    const { branch: gitBranch, version: agentVersion } = state;
    const about = { gitBranch, agentVersion, stopReason: 'stop' };
    return [newMessage('assistant', { ...base, ...about, model: kit.toId(line.model), usage, responseId, blocks })];
  };

  /** Some versions write a response on several lines, each with cumulative counts. */
  const toResponseId = (line: JsonObject, uuid: string | null, promptTokens: number): string | null => {
    const { last } = state;
    const isSame = last !== undefined && last.uuid === line.parentUuid && last.promptTokens === promptTokens;
    return isSame && promptTokens > 0 ? last.responseId : uuid;
  };

  const readUser = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    state.last = undefined;
    const parts = readObject(line.message)?.parts;
    const results = (Array.isArray(parts) ? parts : [])
      .map((part) => readObject(readObject(part)?.functionResponse))
      .filter((result) => result !== undefined);
    if (results.length > 0) {
      const status = readObject(line.toolCallResult)?.status;
      const blocks = results.flatMap((result) => {
        const response = readObject(result.response);
        const isError = status === 'error' || status === 'cancelled' || response?.error !== undefined;
        const content = response?.output ?? response?.error ?? readText(readObject(line.toolCallResult)?.resultDisplay);
        const source = { id: result.id, content: typeof content === 'object' ? null : content, isError };
        return kit.toToolResultBlocks({ ...source, isDenied: status === 'cancelled' }, base.timestampMs);
      });
      return [newMessage('user', { ...base, blocks })];
    }
    const content = toApiBlocks(parts);
    const shown = readText(readObject(line.systemPayload)?.displayText);
    if (line.subtype !== undefined || /^\s*[/?]/.test(toText(parts))) {
      return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(content) })];
    }
    const records = kit.toPromptRecords(content, base, base.uuid ?? null);
    if (shown === null) return records;
    return records.map((record) =>
      record.kind === 'message' ? { ...record, promptText: kit.toPromptText(shown) } : record,
    );
  };

  const readSystem = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const payload = readObject(line.systemPayload);
    switch (line.subtype) {
      case 'chat_compression': {
        const tokens = kit.toCount(readObject(payload?.info), 'originalTokenCount');
        const event = { kind: 'compaction', name: null, details: tokens > 0 ? { preTokens: tokens } : {} } as const;
        return [kit.toEvent(event, base.uuid ?? null, base.timestampMs)];
      }
      case 'slash_command': {
        if (payload?.phase !== 'invocation') return [];
        const name = /^\/?([\w:-]+)/.exec(readText(payload.rawCommand) ?? '')?.[1];
        if (name === undefined) return [];
        const event = { kind: 'slash_command', name: `/${name}`, details: {} } as const;
        return [kit.toEvent(event, base.uuid ?? null, base.timestampMs)];
      }
      case 'custom_title':
      case 'session_title': {
        const title = readText(payload?.title ?? payload?.customTitle);
        return title === null ? [] : [toCutTitle('custom', title)];
      }
      default:
        // Telemetry repeats what the messages say.
        return [];
    }
  };

  return {
    state,
    read(line) {
      const type = readType(line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.timestamp);
      state.branch = kit.toId(line.gitBranch) ?? state.branch;
      state.version = kit.toId(line.version) ?? state.version;
      const { branch: gitBranch, version } = state;
      const session = toSessionRecord({
        sessionId: kit.toId(line.sessionId),
        cwd: kit.toId(line.cwd),
        gitBranch,
        version,
      });
      const base = { timestampMs, uuid: kit.toId(line.uuid), parentUuid: kit.toId(line.parentUuid) };
      const isSidechain = line.isSidechain === true;
      const readers: Record<string, typeof readUser> = {
        user: readUser,
        tool_result: readUser,
        assistant: readAssistant,
        system: readSystem,
      };
      const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
      const records = read?.(line, { ...base, isSidechain }) ?? [{ kind: 'unknown' as const, type, name: type }];
      return { type, timestampMs, records: [session ?? [], records].flat() };
    },
  };
}

/**
 * `usageMetadata` of the Gemini API: prompt tokens include cached ones. With most providers behind Qwen Code,
 * candidates include thoughts; the total shows if they do not.
 */
function toQwenUsage(tokens: JsonObject, kit: ReaderKit): Usage | undefined {
  const prompt = kit.toCount(tokens, 'promptTokenCount');
  const candidates = kit.toCount(tokens, 'candidatesTokenCount');
  const thinkingTokens = kit.toCount(tokens, 'thoughtsTokenCount');
  const total = kit.toCount(tokens, 'totalTokenCount');
  const cacheReadTokens = Math.min(prompt, kit.toCount(tokens, 'cachedContentTokenCount'));
  const isApart = total === prompt + candidates + thinkingTokens || thinkingTokens > candidates;
  return toUsageIfAny({
    inputTokens: prompt - cacheReadTokens,
    outputTokens: isApart ? candidates + thinkingTokens : candidates,
    cacheReadTokens,
    thinkingTokens,
  });
}
