import { type Reply, type Tokens, toEvent, type Wire } from './exchange.ts';
import { type Fields, readTexts, toFields, toList, toText } from './json.ts';

const toUsage = (tokens: Tokens, reply: Reply): Fields => ({
  input_tokens: tokens.input,
  cache_creation_input_tokens: tokens.cacheWrite,
  cache_read_input_tokens: tokens.cacheRead,
  cache_creation: {
    ephemeral_5m_input_tokens: tokens.cacheWrite - tokens.cacheWrite1h,
    ephemeral_1h_input_tokens: tokens.cacheWrite1h,
  },
  output_tokens: tokens.output,
  service_tier: reply.serviceTier ?? 'standard',
  ...(reply.speed === undefined ? {} : { speed: reply.speed }),
});

const toBlocks = ({ text, calls }: Reply): Fields[] => [
  ...(text === '' ? [] : [{ type: 'text', text }]),
  ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
];

const toStopReason = ({ calls }: Reply): string => (calls.length > 0 ? 'tool_use' : 'end_turn');

const toMessage = (reply: Reply): Fields => ({
  id: reply.responseId,
  type: 'message',
  role: 'assistant',
  model: reply.model,
  content: toBlocks(reply),
  stop_reason: toStopReason(reply),
  stop_sequence: null,
  usage: toUsage(reply.tokens, reply),
});

function toBlockEvents(block: Fields, index: number): string[] {
  const isText = block.type === 'text';
  const empty = isText ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta = isText
    ? { type: 'text_delta', text: block.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  return [
    toEvent({ type: 'content_block_start', index, content_block: empty }, 'content_block_start'),
    toEvent({ type: 'content_block_delta', index, delta }, 'content_block_delta'),
    toEvent({ type: 'content_block_stop', index }, 'content_block_stop'),
  ];
}

/** The Messages API of Anthropic. */
export const anthropic: Wire = {
  name: 'anthropic',
  readRequest: (body) => ({
    model: toText(body.model),
    isStream: body.stream === true,
    userTexts: toList(body.messages)
      .map(toFields)
      .filter(({ role }) => role === 'user')
      .flatMap(({ content }) => readTexts(content, ['text'])),
    offeredTools: toList(body.tools).map((tool) => toText(toFields(tool).name)),
    serviceTier: undefined,
    speed: typeof body.speed === 'string' ? body.speed : undefined,
  }),
  toBody: toMessage,
  toEvents(reply) {
    const started = {
      ...toMessage(reply),
      content: [],
      stop_reason: null,
      usage: toUsage({ ...reply.tokens, output: 1 }, reply),
    };
    const delta = { stop_reason: toStopReason(reply), stop_sequence: null };
    const blocks = toBlocks(reply).map(toBlockEvents);
    const [first = [], ...others] = blocks;
    return {
      head: [toEvent({ type: 'message_start', message: started }, 'message_start'), ...first.slice(0, 2)],
      tail: [
        ...first.slice(2),
        ...others.flat(),
        toEvent({ type: 'message_delta', delta, usage: toUsage(reply.tokens, reply) }, 'message_delta'),
        toEvent({ type: 'message_stop' }, 'message_stop'),
      ],
    };
  },
  toError: (status, message) => ({
    type: 'error',
    error: { type: status === 529 ? 'overloaded_error' : 'rate_limit_error', message },
  }),
  newId: (seed) => ({ responseId: `msg_01${seed}`, callId: (index) => `toolu_01${seed}${index}` }),
};
