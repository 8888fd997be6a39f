type Line = Record<string, unknown>;

/** Lines of a transcript to search, one second apart. */
export function toSearchTranscript(sessionId: string, lines: readonly Line[]): Uint8Array {
  const text = lines
    .map((line, index) => {
      const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString();
      return `${JSON.stringify({ sessionId, uuid: `${sessionId}-${index}`, timestamp, cwd: '/home/ada/app', ...line })}\n`;
    })
    .join('');
  return Buffer.from(text);
}

export const prompt = (content: unknown, fields: Line = {}): Line => ({
  type: 'user',
  message: { role: 'user', content },
  ...fields,
});

let answerCount = 0;

/** Each one is a separate response. */
export const answer = (content: string | readonly Line[], fields: Line = {}): Line => {
  const id = `msg-${++answerCount}`;
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return {
    type: 'assistant',
    message: { id, role: 'assistant', model: 'claude-opus-5', stop_reason: 'end_turn', content: blocks },
    ...fields,
  };
};
