import { type Reply, toEvent, type Wire } from './exchange.ts';
import { type Fields, readTexts, toFields, toList, toText } from './json.ts';

const toUsage = ({ tokens }: Reply): Fields => ({
  prompt_tokens: tokens.input + tokens.cacheRead + tokens.cacheWrite,
  completion_tokens: tokens.output,
  total_tokens: tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.output,
  prompt_tokens_details: { cached_tokens: tokens.cacheRead },
  completion_tokens_details: { reasoning_tokens: tokens.reasoning },
});

const toCalls = ({ calls }: Reply): Fields[] =>
  calls.map(({ id, name, input }, index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));

const toFinishReason = ({ calls }: Reply): string => (calls.length > 0 ? 'tool_calls' : 'stop');

const toHead = (reply: Reply, object: string): Fields => ({
  id: reply.responseId,
  object,
  created: Math.floor(Date.now() / 1000),
  model: reply.model,
});

/** The Chat Completions API of OpenAI, as many other vendors serve it. */
export const chat: Wire = {
  name: 'chat',
  readRequest: (body) => ({
    model: toText(body.model),
    isStream: body.stream === true,
    userTexts: toList(body.messages)
      .map(toFields)
      .filter(({ role }) => role === 'user')
      .flatMap(({ content }) => readTexts(content, ['text'])),
    offeredTools: toList(body.tools).map((tool) => toText(toFields(toFields(tool).function).name)),
    serviceTier: typeof body.service_tier === 'string' ? body.service_tier : undefined,
  }),
  toBody: (reply) => {
    const calls = toCalls(reply);
    const message = {
      role: 'assistant',
      content: reply.text === '' ? null : reply.text,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    return {
      ...toHead(reply, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason: toFinishReason(reply) }],
      usage: toUsage(reply),
    };
  },
  toEvents(reply) {
    const toChunk = (delta: Fields, finish: string | null = null): string =>
      toEvent({
        ...toHead(reply, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, finish_reason: finish }],
        usage: null,
      });
    const calls = toCalls(reply);
    return {
      head: [
        toChunk({ role: 'assistant', content: '' }),
        ...(reply.text === '' ? [] : [toChunk({ content: reply.text })]),
      ],
      tail: [
        ...calls.map((call) => toChunk({ tool_calls: [call] })),
        toChunk({}, toFinishReason(reply)),
        toEvent({ ...toHead(reply, 'chat.completion.chunk'), choices: [], usage: toUsage(reply) }),
        'data: [DONE]\n\n',
      ],
    };
  },
  toError: (status, message) => ({
    error: { type: status === 529 ? 'server_error' : 'rate_limit_error', code: null, message },
  }),
  newId: (seed) => ({ responseId: `chatcmpl-${seed}`, callId: (index) => `call_${seed}${index}` }),
};
