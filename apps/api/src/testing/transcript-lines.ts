/** A line of a transcript, a prompt, or an answer with usage. */
export function toLine(sessionId: string, index: number, fields: Record<string, unknown> = {}): string {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
  const envelope = { sessionId, uuid: `uuid-${index}`, parentUuid: null, timestamp, cwd: '/home/ada/app' };
  const message =
    index % 2 === 0
      ? { type: 'user', message: { role: 'user', content: `prompt ${index} of ${sessionId}` } }
      : {
          type: 'assistant',
          requestId: `req-${index}`,
          message: {
            id: `msg-${sessionId}-${index}`,
            role: 'assistant',
            model: 'claude-sonnet-4-5',
            stop_reason: 'end_turn',
            content: [{ type: 'text', text: `answer ${index}` }],
            usage: { input_tokens: 10, output_tokens: 100 + index, cache_read_input_tokens: 1000 },
          },
        };
  return `${JSON.stringify({ ...envelope, ...message, ...fields })}\n`;
}

export function toTranscript(sessionId: string, lineCount: number, fields: Record<string, unknown> = {}): string {
  return Array.from({ length: lineCount }, (_, index) => toLine(sessionId, index, fields)).join('');
}
