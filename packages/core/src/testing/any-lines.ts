import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../lines/json.ts';

/** Any UTF-16 units, with extra NULs and halves of surrogate pairs. */
export const anyText = fc
  .array(fc.oneof(fc.constantFrom(0, 0xd83d, 0xde00, 0xfeff, 0x2028), fc.integer({ min: 0, max: 0xffff })), {
    maxLength: 12,
  })
  .map((units) => String.fromCharCode(...units));

const anyKey = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'type', 'text', 'data', 'id', 'content'), anyText);

export const anyJson = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(anyText, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(anyKey, tie('value'), { maxKeys: 4 }),
  ),
})).value;

const anyBlock = fc.oneof(
  anyJson,
  fc.record(
    {
      type: fc.constantFrom(
        'text',
        'thinking',
        'tool_use',
        'tool_result',
        'image',
        'document',
        'server_tool_use',
        'new',
      ),
      text: anyJson,
      thinking: anyJson,
      name: fc.oneof(fc.constantFrom('Task', 'Agent', 'Bash'), anyJson),
      id: anyJson,
      input: anyJson,
      tool_use_id: anyJson,
      content: anyJson,
      is_error: anyJson,
      source: anyJson,
    },
    { requiredKeys: ['type'] },
  ),
);

const anyTokens = fc.oneof(fc.nat({ max: 2_000_000 }), fc.constantFrom(1e8, 0, -1, 0.5, '7', null, 1e300));

const anyUsage = fc.record(
  {
    input_tokens: anyTokens,
    output_tokens: anyTokens,
    cache_read_input_tokens: anyTokens,
    cache_creation_input_tokens: anyTokens,
    cache_creation: fc.oneof(anyJson, fc.record({ ephemeral_1h_input_tokens: anyTokens })),
    service_tier: anyJson,
    iterations: fc.oneof(
      anyJson,
      fc.array(
        fc.record(
          {
            type: fc.constantFrom('advisor_message', 'message', 'fallback_message', 'compaction', 'x'),
            model: fc.oneof(anyJson, fc.constantFrom('claude-a', 'claude-b')),
            input_tokens: anyTokens,
            output_tokens: anyTokens,
          },
          { requiredKeys: ['type'] },
        ),
      ),
    ),
  },
  { requiredKeys: [] },
);

/** A message line where every field may be valid, wrong or missing. */
export const anyMessage = fc.record(
  {
    type: fc.constantFrom('user', 'assistant', 'assistant', 'system', 'summary'),
    message: fc.oneof(
      anyJson,
      fc.record(
        {
          id: fc.oneof(fc.constantFrom('m1', 'm2', 'm3'), anyJson),
          model: anyJson,
          role: anyJson,
          content: fc.oneof(anyJson, fc.array(anyBlock, { maxLength: 4 })),
          usage: fc.oneof(anyUsage, anyJson),
          stop_reason: anyJson,
        },
        { requiredKeys: [] },
      ),
    ),
    timestamp: fc.oneof(fc.constantFrom('2025-06-01T00:00:00Z', '2024-01-01T00:00:00.5+01:00', 'never'), anyJson),
    uuid: anyJson,
    content: anyJson,
    summary: anyJson,
    isSidechain: anyJson,
    requestId: fc.oneof(fc.constantFrom('r1', 'r2'), anyJson),
    subtype: fc.oneof(fc.constantFrom('compact_boundary', 'api_error', 'local_command'), anyJson),
    isApiErrorMessage: anyJson,
    costUSD: anyJson,
    toolUseResult: anyJson,
    forkedFrom: anyJson,
    error: anyJson,
    cwd: anyJson,
  },
  { requiredKeys: ['type'] },
) as fc.Arbitrary<JsonObject>;

/** Lines of other types that produce rows. */
export const anyMetadata = fc.oneof(
  fc.record({
    type: fc.constant('progress'),
    data: fc.record({
      type: fc.constantFrom('agent_progress', 'bash_progress'),
      agentId: anyJson,
      message: fc.record({
        type: fc.constantFrom('assistant', 'user'),
        requestId: anyJson,
        message: fc.record({ id: fc.oneof(fc.constantFrom('m1', 'm9'), anyJson), usage: anyUsage, content: anyJson }),
      }),
    }),
  }),
  fc.record({
    type: fc.constant('attachment'),
    attachment: fc.record({ type: fc.constant('queued_command'), prompt: anyJson }),
  }),
  fc.record({ type: fc.constant('pr-link'), prUrl: anyJson, prNumber: anyJson }),
  fc.record({
    type: fc.constantFrom('cost-state', 'result'),
    totalCostUSD: anyJson,
    cost_usd: anyJson,
    modelUsage: anyJson,
  }),
);

export const messageLine = anyMessage.map((line) => JSON.stringify(line));
export const metadataLine = fc.constantFrom('progress', 'mode', 'pr-link').map((type) => JSON.stringify({ type }));
export const emptyLine = fc.constantFrom('', ' ', '\r', '\t \r');
export const faultyLine = fc.oneof(
  fc.constantFrom('{"type":"new-type"}', '{"type":null}', '{}', '[]', '0', '{"type":"user"', '"x', '\0', '{]}'),
  fc.string().map((text) => `!${text.replaceAll('\n', '')}`),
);
