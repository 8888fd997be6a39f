import { type ParseOptions, type ParseResult, streamTranscript, type TranscriptInput } from '@recount/core';

/** The result as one JSON document, a row a line, in pieces: of a long transcript it would not fit one string. */
export function* toJson(result: ParseResult): Generator<string> {
  const { messages, contentBlocks, apiResponses, toolCalls, events, errors, warnings, stats, metadata } = result;
  yield '{';
  const found = { messages, contentBlocks, apiResponses, toolCalls, events };
  for (const [name, rows] of Object.entries(found)) yield* toJsonArray(name, rows);
  yield `"stats":${JSON.stringify(stats)},\n`;
  for (const [name, rows] of Object.entries({ errors, warnings })) yield* toJsonArray(name, rows);
  yield `"metadata":${JSON.stringify(metadata)}}\n`;
}

function* toJsonArray(name: string, rows: readonly object[]): Generator<string> {
  yield `${JSON.stringify(name)}:[`;
  for (const [index, row] of rows.entries()) yield `${index === 0 ? '\n' : ',\n'}${JSON.stringify(row)}`;
  yield '],\n';
}

/**
 * One object a line with its `kind`, in bounded memory: `message`, `content_block`, `api_response`, `tool_call`, `event`
 * (whose own kind is `event_kind`) and `issue` as they are found, `updated_message` for a message changed by later lines
 * of its response, `stats` and `metadata` at the end.
 */
export async function* toNdjson(
  sessionId: string,
  input: TranscriptInput,
  options: ParseOptions,
): AsyncGenerator<string> {
  const batches = streamTranscript(sessionId, input, options);
  for (;;) {
    const next = await batches.next();
    if (next.done) {
      yield toLines('stats', [next.value.stats]);
      yield toLines('metadata', [next.value.metadata]);
      return;
    }
    const { messages, updatedMessages, contentBlocks, apiResponses, toolCalls, events, issues } = next.value;
    yield toLines('message', messages);
    yield toLines('updated_message', updatedMessages);
    yield toLines('content_block', contentBlocks);
    yield toLines('api_response', apiResponses);
    yield toLines('tool_call', toolCalls);
    yield toLines(
      'event',
      events.map(({ kind, ...event }) => ({ event_kind: kind, ...event })),
    );
    yield toLines('issue', issues);
  }
}

function toLines(kind: string, rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify({ kind, ...row })}\n`).join('');
}
