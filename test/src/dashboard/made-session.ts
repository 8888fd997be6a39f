/** Dollars for a million output tokens, which is all that these responses have. */
export const SONNET = { model: 'claude-sonnet-4-5', usdPerMillion: 15 };
export const OPUS = { model: 'claude-opus-4-5', usdPerMillion: 25 };

/** A session of known cost. */
export interface MadeSession {
  /** ISO 8601. */
  at: string;
  /** Dollars of each of its responses. */
  costs: readonly number[];
  /** Name of the folder. */
  repository: string;
  price: typeof SONNET;
  /** Call of each response; the tests are run by default. */
  call?: { name: string; input: Record<string, string> };
}

const COMMAND = { name: 'Bash', input: { command: 'npm test' } };

/** A prompt, and the same call in each response, one after the other, so that three of them are a loop. */
export function toMadeTranscript(
  { at, costs, repository, price, call = COMMAND }: MadeSession,
  sessionId: string,
): string {
  const common = {
    sessionId,
    version: '2.1.50',
    cwd: `/home/x/${repository}`,
    isSidechain: false,
    userType: 'external',
  };
  const toTime = (seconds: number): string => new Date(Date.parse(at) + seconds * 1000).toISOString();
  const prompt = { ...common, type: 'user', uuid: 'u', timestamp: at, message: { role: 'user', content: 'Do it' } };
  const turns = costs.flatMap((cost, index) => {
    const id = `toolu_${sessionId}_${index}`;
    const use = { type: 'tool_use', id, ...call };
    const output_tokens = Math.round((cost / price.usdPerMillion) * 1e6);
    const usage = { input_tokens: 0, output_tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const message = { id: `msg_${sessionId}_${index}`, role: 'assistant', model: price.model, stop_reason: 'tool_use' };
    const result = [{ type: 'tool_result', tool_use_id: id, content: 'fine' }];
    return [
      {
        ...{ ...common, type: 'assistant', uuid: `a${index}`, timestamp: toTime(2 * index + 1) },
        message: { ...message, usage, content: [use] },
      },
      {
        ...{ ...common, type: 'user', uuid: `r${index}`, timestamp: toTime(2 * index + 2) },
        message: { role: 'user', content: result },
      },
    ];
  });
  return [prompt, ...turns].map((line) => `${JSON.stringify(line)}\n`).join('');
}
