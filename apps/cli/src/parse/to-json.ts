import { type ParseOptions, type ParseResult, streamTranscript, type TranscriptInput } from '@recount/core';

/**
 * The result as one JSON document, one row on each line, in pieces, because a long transcript would not fit into one
 * string.
 */
export function* toJson(result: ParseResult): Generator<string> {
  const { messages, contentBlocks, apiResponses, toolCalls, events, errors, warnings, notices, stats, metadata } =
    result;
  yield '{';
  const found = { messages, contentBlocks, apiResponses, toolCalls, events };
  for (const [name, rows] of Object.entries(found)) yield* toJsonArray(name, rows);
  yield `"stats":${JSON.stringify(stats)},\n`;
  for (const [name, rows] of Object.entries({ errors, warnings, notices })) yield* toJsonArray(name, rows);
  yield `"metadata":${JSON.stringify(metadata)}}\n`;
}

function* toJsonArray(name: string, rows: readonly object[]): Generator<string> {
  yield `${JSON.stringify(name)}:[`;
  for (const [index, row] of rows.entries()) yield `${index === 0 ? '\n' : ',\n'}${JSON.stringify(row)}`;
  yield '],\n';
}

/**
 * One object on each line with its `kind`, in bounded memory: `message`, `content_block`, `api_response`, `tool_call`,
 * `event` (whose own kind is `event_kind`) and `issue`, each once and as soon as it is final. A message comes after its
 * blocks. `stats` and `metadata` come at the end.
 */
export async function* toNdjson(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions,
): AsyncGenerator<string> {
  for await (const batch of streamTranscript(sessionId, input, options)) {
    const { messages, contentBlocks, apiResponses, toolCalls, events, issues, summary } = batch;
    yield toLines('message', messages);
    yield toLines('content_block', contentBlocks);
    yield toLines('api_response', apiResponses);
    yield toLines('tool_call', toolCalls);
    yield toLines(
      'event',
      events.map(({ kind, ...event }) => ({ event_kind: kind, ...event })),
    );
    yield toLines('issue', issues);
    if (summary === undefined) continue;
    yield toLines('stats', [summary.stats]);
    yield toLines('metadata', [summary.metadata]);
  }
}

function toLines(kind: string, rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify({ kind, ...row })}\n`).join('');
}
