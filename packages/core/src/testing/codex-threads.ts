import type { JsonObject } from '../lines/json.ts';

/**
 * `old` are turns without ids. `turns` are turns with ids. `records` have also a `token_usage_record` for each
 * response.
 */
export type CodexGeneration = 'old' | 'turns' | 'records';

export interface MadeUpTokens {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
}

/** A made-up Codex thread with the lines of its rollout. */
export interface MadeUpThread {
  id: string;
  generation: CodexGeneration;
  lines: JsonObject[];
  total: MadeUpTokens;
  /** The responses whose usage is in the rollout; numbers are unique over all threads. */
  responses: Set<number>;
}

export interface ThreadMaker {
  /** Starts a thread; each line is a second later than the one before. */
  begin(generation: CodexGeneration, meta?: JsonObject): MadeUpThread;
  /** Adds a turn, with a prompt, and one response for each of `responses`. */
  addTurn(thread: MadeUpThread, prompt: string, responses: readonly MadeUpTokens[]): void;
  /** A thread that begins with a copy of another one's lines. */
  fork(parent: MadeUpThread, options: { isSubagent: boolean; isRestamped: boolean; meta?: JsonObject }): MadeUpThread;
  /** Usage of each response by its number. */
  tokens: Map<number, MadeUpTokens>;
}

const NO_TOKENS: MadeUpTokens = { input: 0, cached: 0, output: 0, reasoning: 0 };

export function createThreadMaker(startMs = Date.UTC(2026, 7, 1)): ThreadMaker {
  let nowMs = startMs;
  let count = 0;
  const tokens = new Map<number, MadeUpTokens>();
  const passSecond = (): number => {
    nowMs += 1000;
    return nowMs;
  };
  const nextId = (): string => toUuid7(passSecond(), ++count);
  const toLine = (type: string, payload: JsonObject): JsonObject => ({
    timestamp: new Date(passSecond()).toISOString(),
    type,
    payload,
  });
  const begin = (generation: CodexGeneration, meta: JsonObject = {}): MadeUpThread => {
    const id = nextId();
    const header = {
      id,
      timestamp: new Date(nowMs).toISOString(),
      cwd: '/home/ada/app',
      cli_version: '0.150.0',
      ...meta,
    };
    const lines = [toLine('session_meta', header)];
    return { id, generation, lines, total: NO_TOKENS, responses: new Set() };
  };

  const toItems = (number: number, isLast: boolean): [JsonObject, ...JsonObject[]] => {
    if (isLast) {
      const content = [{ type: 'output_text', text: 'Done' }];
      const answer = { type: 'message', role: 'assistant', content, phase: 'final_answer' };
      return [toLine('response_item', answer)];
    }
    const callId = `call_${String(number).padStart(24, '0')}`;
    const call = { type: 'function_call', name: 'shell', arguments: '{"command":["ls"]}', call_id: callId };
    const output = { type: 'function_call_output', call_id: callId, output: 'Exit code: 0' };
    return [toLine('response_item', call), toLine('response_item', output)];
  };

  const addResponse = (thread: MadeUpThread, turnId: string | undefined, used: MadeUpTokens, isLast: boolean): void => {
    const number = ++count;
    tokens.set(number, used);
    thread.responses.add(number);
    thread.total = addTokens(thread.total, used);
    const info = { total_token_usage: toCounts(thread.total), last_token_usage: toCounts(used) };
    const counted = toLine('event_msg', { type: 'token_count', info, rate_limits: { plan_type: 'pro' } });
    const usage = toCounts(used);
    const record = { thread_id: thread.id, turn_id: turnId ?? null, response_id: `resp_${number}`, usage };
    if (thread.generation === 'old') thread.lines.push(counted);
    thread.lines.push(toLine('response_item', { type: 'reasoning', summary: [], encrypted_content: 'x' }));
    const [item, ...outputs] = toItems(number, isLast);
    thread.lines.push(item);
    if (thread.generation === 'records') thread.lines.push(toLine('token_usage_record', record));
    thread.lines.push(...outputs);
    if (thread.generation !== 'old') thread.lines.push(counted);
  };

  return {
    begin,
    tokens,
    addTurn(thread, prompt, responses) {
      const turnId = thread.generation === 'old' ? undefined : nextId();
      if (turnId !== undefined) thread.lines.push(toLine('event_msg', { type: 'task_started', turn_id: turnId }));
      const content = [{ type: 'input_text', text: prompt }];
      thread.lines.push(
        toLine('turn_context', {
          cwd: '/home/ada/app',
          model: 'gpt-5',
          ...(turnId !== undefined && { turn_id: turnId }),
        }),
        toLine('response_item', { type: 'message', role: 'user', content }),
        toLine('event_msg', { type: 'user_message', message: prompt }),
      );
      for (const [index, used] of responses.entries()) {
        addResponse(thread, turnId, used, index === responses.length - 1);
      }
    },
    fork(parent, { isSubagent, isRestamped, meta = {} }) {
      const spawn = {
        source: { subagent: { thread_spawn: { parent_thread_id: parent.id } } },
        thread_source: 'subagent',
      };
      const child = begin(parent.generation, { ...(isSubagent ? spawn : { forked_from_id: parent.id }), ...meta });
      const { timestamp } = child.lines[0] ?? {};
      for (const line of parent.lines) {
        if (!isCopied(line, isSubagent)) continue;
        child.lines.push(isRestamped && timestamp !== undefined ? { ...line, timestamp } : line);
      }
      child.total = parent.total;
      child.responses = new Set(parent.responses);
      nowMs += 10_000;
      return child;
    },
  };
}

/**
 * Codex does not copy `token_usage_record`, and into a sub-agent's rollout neither calls nor reasoning nor contexts.
 */
function isCopied({ type, payload }: JsonObject, isSubagent: boolean): boolean {
  if (type === 'token_usage_record') return false;
  if (!isSubagent) return true;
  const item = (payload as JsonObject).type;
  return type !== 'turn_context' && (type !== 'response_item' || item === 'message');
}

export function toCounts({ input, cached, output, reasoning }: MadeUpTokens): JsonObject {
  return {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_output_tokens: reasoning,
    total_tokens: input + output,
  };
}

export function addTokens(a: MadeUpTokens, b: MadeUpTokens): MadeUpTokens {
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}

/** A version 7 UUID with this time. */
export function toUuid7(timeMs: number, number: number): string {
  const time = timeMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}
