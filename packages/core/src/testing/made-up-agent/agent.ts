import type { Agent, ContentIdentity, Format, Reader, ReaderContext } from '../../agents/agent.ts';
import { type InlineContext, toInlineJson, toInlineText } from '../../agents/inline-content.ts';
import { toOptionsEnd } from '../../agents/option-position.ts';
import { toShellProgram } from '../../agents/shell-program.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readCount, readIdentifier, readObject, readText } from '../../records/fields.ts';
import { newBlock, newMessage, newToolResult, newToolUse, newUsage } from '../../records/new-records.ts';
import type { BlockContent, TranscriptRecord, TurnEndRecord } from '../../records/records.ts';
import type { ToolKind } from '../../records/rows.ts';
import { MAX_TOKENS_PER_FIELD, type Usage } from '../../records/usage.ts';

const TOOLS: Readonly<Record<string, ToolKind>> = { peek: 'read', patch: 'edit', sh: 'shell', delegate: 'agent' };
const LATEST_MS = Date.UTC(10_000, 0, 1) - 1;

const toId = (value: JsonValue | undefined) => readIdentifier(value, () => undefined);

/** `"spent":{"in":100,"out":20,"kept":60}`: `kept` of the input came from the cache. */
function toUsage(spent: JsonObject, { report }: ReaderContext): Usage {
  const count = (field: string): number => {
    const onInvalid = () => report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
    return readCount(spent[field], MAX_TOKENS_PER_FIELD, onInvalid) ?? 0;
  };
  const cacheReadTokens = count('kept');
  return newUsage({
    inputTokens: Math.max(0, count('in') - cacheReadTokens),
    outputTokens: count('out'),
    cacheReadTokens,
  });
}

/** `{"act":"a1","ref":"r1","verb":"sh","with":{"line":"ls"}}` */
function toCallBlock(line: JsonObject, context: InlineContext): BlockContent {
  const tool_name = toId(line.verb) ?? 'unknown';
  const tool_kind = (Object.hasOwn(TOOLS, tool_name) && TOOLS[tool_name]) || 'other';
  const input = readObject(line.with) ?? {};
  const block = newBlock('tool_use', { tool_name, tool_use_id: toId(line.act) });
  block.tool_input = toInlineJson(input, block, context);
  block.writtenBytes = block.contentBytes;
  const program = tool_kind === 'shell' && typeof input.line === 'string' ? toShellProgram(input.line) : null;
  const about = { program, file_path: toId(input.file), input_bytes: block.contentBytes };
  const summary = about.file_path ?? program ?? undefined;
  block.toolUse = { ...newToolUse({ tool_name, tool_kind, ...about }), summary };
  return block;
}

/** `{"done":"a1","text":"…","failed":false}` */
function toResultBlock(line: JsonObject, timestampMs: number | undefined, context: InlineContext): BlockContent {
  const isError = line.failed === true;
  const block = newBlock('tool_result', { tool_result_id: toId(line.done), is_error: isError });
  block.result_text = toInlineText(readText(line.text) ?? '', block, context);
  block.toolResult = newToolResult({ timestampMs, isError, outputBytes: block.contentBytes });
  return block;
}

/** `{"over":true,"ok":true}` */
function toTurnEnd({ ok }: JsonObject): TurnEndRecord {
  const success = ok === true;
  const unknown = { subtype: null, text: null, stopReason: null, durationMs: null, usage: undefined };
  return { kind: 'turn-end', success, errorCode: success ? null : 'failed', ...unknown };
}

function createReader(context: ReaderContext, state = { model: null as string | null }): Reader {
  const { maxInlineContentBytes, isLive, report } = context;
  const onNestingTooDeep = () => report('nesting_too_deep', 'warning', 'JSON nested too deep to be stored');
  const inline: InlineContext = { maxInlineContentBytes, onNestingTooDeep };

  const toTextBlock = (line: JsonObject, isWritten: boolean): BlockContent => {
    const block = newBlock('text');
    block.content_text = toInlineText(readText(line.text) ?? '', block, inline);
    if (isWritten) block.writtenBytes = block.contentBytes;
    return block;
  };
  const toRecords = (line: JsonObject, timestampMs: number | undefined): TranscriptRecord[] | undefined => {
    if ('parley' in line) {
      state.model = toId(line.model);
      const [sessionId, cwd, version] = [toId(line.talk), toId(line.dir), toId(line.build)];
      if (isLive) return [{ kind: 'run', sessionId: sessionId ?? '', model: state.model, cwd, version, tools: [] }];
      const known = Object.entries({ sessionId, cwd, version }).filter(([, value]) => value !== null);
      return [{ kind: 'session', first: Object.fromEntries(known) }];
    }
    if (line.say === 'user') {
      const event = { kind: 'prompt', name: null, details: {} } as const;
      const message = {
        timestampMs,
        promptText: cutCharacters(readText(line.text) ?? '', 1000),
        blocks: [toTextBlock(line, false)],
      };
      return [{ kind: 'event', event, uuid: null, timestampMs, isSubagent: false }, newMessage('user', message)];
    }
    if ('done' in line)
      return [newMessage('user', { timestampMs, blocks: [toResultBlock(line, timestampMs, inline)] })];
    if ('over' in line) return isLive ? [toTurnEnd(line)] : [];
    if (line.say !== 'model' && !('act' in line)) return undefined;
    // Lines with the same `ref` are one response.
    const spent = readObject(line.spent);
    const response = { timestampMs, responseId: toId(line.ref), model: state.model };
    const blocks = 'act' in line ? [toCallBlock(line, inline)] : [toTextBlock(line, true)];
    const stopReason = 'act' in line ? null : 'end';
    return [newMessage('assistant', { ...response, usage: spent && toUsage(spent, context), stopReason, blocks })];
  };
  return {
    state,
    read(line, { arrivalMs }) {
      const timestampMs = readCount(line.at, LATEST_MS, () => undefined) ?? arrivalMs;
      const type = ['parley', 'say', 'act', 'done', 'over'].find((key) => key in line) ?? 'other';
      return { type, timestampMs, records: toRecords(line, timestampMs) ?? [{ kind: 'unknown', type, name: type }] };
    },
  };
}

const toFormat = (id: string, kind: Format['kind'], mode: string): Format => ({
  id,
  kind,
  detect: (line) => (line.parley === mode ? 1 : 0),
  identify(line: JsonObject, found: ContentIdentity) {
    found.sessionId ??= toId(line.talk) ?? undefined;
    found.hasMessage ||= 'say' in line;
  },
  createReader,
});

/** A made-up agent. The tests of the agent interface register it, and docs/adding-an-agent.md walks through it. */
export const parley: Agent = {
  id: 'parley',
  label: 'Parley',
  formats: [toFormat('parley-log', 'session', 'log'), toFormat('parley-live', 'stream', 'live')],
  places: [{ holds: 'transcripts', variable: 'PARLEY_HOME', bases: ['.parley'], files: ['talks/**/*.jsonl'] }],
  program: {
    command: 'parley',
    sourceFormat: 'parley-live',
    outputOptions: [{ words: ['--live'], spellings: ['--live'] }],
    toOptionIndex: toOptionsEnd,
    createReader,
  },
};
