import { type Reply, toEvent, type Wire } from './exchange.ts';
import { type Fields, readTexts, toFields, toList, toText } from './json.ts';

function toItems({ responseId, text, calls }: Reply): Fields[] {
  const message = {
    type: 'message',
    id: `msg_${responseId}`,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
  const uses = calls.map(({ id, name, namespace, input }) => ({
    ...(typeof input === 'string'
      ? { type: 'custom_tool_call', id: `ctc_${id}`, input }
      : { type: 'function_call', id: `fc_${id}`, arguments: JSON.stringify(input) }),
    status: 'completed',
    call_id: id,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  }));
  return [...(text === '' ? [] : [message]), ...uses];
}

function toResponse(reply: Reply, status: 'in_progress' | 'completed'): Fields {
  const { tokens } = reply;
  const usage = {
    input_tokens: tokens.input + tokens.cacheRead + tokens.cacheWrite,
    input_tokens_details: { cached_tokens: tokens.cacheRead },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.output,
  };
  const isDone = status === 'completed';
  return {
    id: reply.responseId,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    model: reply.model,
    output: isDone ? toItems(reply) : [],
    parallel_tool_calls: true,
    tools: [],
    ...(reply.serviceTier === undefined ? {} : { service_tier: reply.serviceTier }),
    usage: isDone ? usage : null,
  };
}

/** The field of an item that comes in pieces, and the name of the event that delivers them. */
const PIECES: Record<string, readonly [field: string, event: string]> = {
  message: ['content', 'response.output_text.delta'],
  function_call: ['arguments', 'response.function_call_arguments.delta'],
  custom_tool_call: ['input', 'response.custom_tool_call_input.delta'],
};

function toItemEvents(item: Fields, index: number): string[] {
  const [field = '', type = ''] = PIECES[toText(item.type)] ?? [];
  const empty = { ...item, status: 'in_progress', [field]: item.type === 'message' ? [] : '' };
  const piece = item.type === 'message' ? toFields(toList(item.content)[0]).text : item[field];
  const delta = { type, output_index: index, item_id: item.id, content_index: 0, delta: piece };
  return [
    toEvent({ type: 'response.output_item.added', output_index: index, item: empty }, 'response.output_item.added'),
    toEvent(delta, type),
    toEvent({ type: 'response.output_item.done', output_index: index, item }, 'response.output_item.done'),
  ];
}

/** Texts of the user, and of agents to each other, which the API would encrypt. */
function readItem({ type, role, content }: Fields): string[] {
  if (role === 'user') return readTexts(content, ['input_text', 'text']);
  if (type !== 'agent_message') return [];
  const sealed = toList(content).map((part) => toText(toFields(part).encrypted_content));
  return [...readTexts(content, ['input_text']), ...sealed].filter((text) => text !== '');
}

/** Newer models get their tools as an item of the input, in groups. */
function listTools(body: Fields): string[] {
  const added = toList(body.input)
    .map(toFields)
    .filter(({ type }) => type === 'additional_tools');
  const groups = [...toList(body.tools), ...added.flatMap(({ tools }) => toList(tools))].map(toFields);
  return groups
    .flatMap((tool) => (tool.type === 'namespace' ? toList(tool.tools).map(toFields) : [tool]))
    .map(({ name, type }) => toText(name) || toText(type));
}

/** The Responses API of OpenAI. It counts cached input as a part of the input, and reports no cache writes. */
export const responses: Wire = {
  name: 'responses',
  readRequest: (body) => ({
    model: toText(body.model),
    isStream: body.stream === true,
    userTexts: typeof body.input === 'string' ? [body.input] : toList(body.input).map(toFields).flatMap(readItem),
    offeredTools: listTools(body),
    serviceTier: typeof body.service_tier === 'string' ? body.service_tier : undefined,
  }),
  toBody: (reply) => toResponse(reply, 'completed'),
  toEvents(reply) {
    const [first = [], ...others] = toItems(reply).map(toItemEvents);
    const start = (type: string) => toEvent({ type, response: toResponse(reply, 'in_progress') }, type);
    const end = { type: 'response.completed', response: toResponse(reply, 'completed') };
    return {
      head: [start('response.created'), start('response.in_progress'), ...first.slice(0, 2)],
      tail: [...first.slice(2), ...others.flat(), toEvent(end, end.type)],
    };
  },
  toError: (status, message) => ({
    error: { type: status === 529 ? 'server_error' : 'rate_limit_error', code: null, message },
  }),
  newId: (seed) => ({ responseId: `resp_${seed}`, callId: (index) => `call_${seed}${index}` }),
};
