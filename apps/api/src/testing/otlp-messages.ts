type Value = string | number | boolean;

/** Attributes as OTLP has them in JSON. */
const toKeyValues = (attributes: Record<string, Value>) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value:
      typeof value === 'string'
        ? { stringValue: value }
        : typeof value === 'boolean'
          ? { boolValue: value }
          : Number.isInteger(value)
            ? { intValue: value }
            : { doubleValue: value },
  }));

export interface TestRequest {
  session: string;
  request: string;
  /** ISO 8601. */
  time: string;
  input?: number;
  output?: number;
  costUsd?: number;
  model?: string;
  more?: Record<string, Value>;
}

const toNanoseconds = (time: string): string => `${Date.parse(time)}000000`;

/** A request of log records, as Claude Code exports one for each response. */
export const toLogsRequest = (requests: readonly TestRequest[], resource: Record<string, Value> = {}) => ({
  resourceLogs: [
    {
      resource: { attributes: toKeyValues({ 'service.name': 'claude-code', ...resource }) },
      scopeLogs: [
        {
          scope: { name: 'com.anthropic.claude_code.events' },
          logRecords: requests.map(
            ({ session, request, time, input = 10, output = 20, costUsd = 0.5, model, more }) => ({
              timeUnixNano: toNanoseconds(time),
              body: { stringValue: 'claude_code.api_request' },
              attributes: [
                ...toKeyValues({
                  'session.id': session,
                  'event.name': 'api_request',
                  model: model ?? 'claude-opus-5-5',
                  input_tokens: input,
                  output_tokens: output,
                  cache_read_tokens: 0,
                  cache_creation_tokens: 0,
                  cost_usd: costUsd,
                  ...(request !== '' && { request_id: request }),
                  ...more,
                }),
                { key: 'messages', value: { arrayValue: { values: [{ stringValue: 'private' }] } } },
              ],
            }),
          ),
        },
      ],
    },
  ],
});

/** A request with a point of tokens, as Claude Code exports metrics. */
export const toMetricsRequest = (session: string, type: string, value: number, time: string, temporality = 1) => ({
  resourceMetrics: [
    {
      resource: { attributes: toKeyValues({ 'service.name': 'claude-code' }) },
      scopeMetrics: [
        {
          metrics: [
            {
              name: 'claude_code.token.usage',
              sum: {
                aggregationTemporality: temporality,
                dataPoints: [
                  {
                    startTimeUnixNano: '1000000',
                    timeUnixNano: toNanoseconds(time),
                    asInt: String(value),
                    attributes: toKeyValues({ 'session.id': session, model: 'claude-opus-5-5', type }),
                  },
                ],
              },
            },
            { name: 'claude_code.tool.duration', histogram: { dataPoints: [{ count: '1', sum: 3 }] } },
          ],
        },
      ],
    },
  ],
});
