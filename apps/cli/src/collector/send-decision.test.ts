import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { createSendDecider } from './send-decision.ts';

const toSession = (cwd: string): Buffer =>
  Buffer.from(
    `${JSON.stringify({ type: 'summary', summary: 'x', leafUuid: 'y' })}\n${JSON.stringify({
      ...{ type: 'user', sessionId: 's', cwd, timestamp: '2026-03-02T09:40:00.000Z', uuid: 'u' },
      message: { role: 'user', content: 'Look for the heron' },
    })}\n`,
  );

const decide = (connection: Parameters<typeof createSendDecider>[0], head: Buffer): string | undefined => {
  const decision = createSendDecider(connection)?.('/home/ada/.claude/projects/-app/s.jsonl', head);
  if (decision?.kind === 'nothing') return decision.reason;
  return decision?.kind === 'rewritten' ? decision.what : decision?.kind;
};

it('decides by the folder of the session', () => {
  const connection = { excludes: ['/home/ada/private'], usageOnly: ['/work'], redacts: true };
  expect(decide(connection, toSession('/home/ada/private/diary'))).toBe('excluded: /home/ada/private');
  expect(decide(connection, toSession('/home/ada/privately'))).toBe('without secrets');
  expect(decide(connection, toSession('/work'))).toBe('usage only');
  expect(decide({ ...connection, redacts: false }, toSession('/home/ada'))).toBe('everything');
});

it('removes secrets, and leaves the rest unchanged', async () => {
  const token = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  const session = Buffer.from(toSession('/work').toString().replace('the heron', token));
  const decision = createSendDecider({ excludes: [], redacts: true })?.('/s.jsonl', session);
  if (decision?.kind !== 'rewritten') throw new Error('It is sent as it is');
  const pieces: Uint8Array[] = [];
  for await (const piece of decision.rewrite(Readable.from([session]))) pieces.push(piece);
  const sent = Buffer.concat(pieces).toString();
  expect(sent).not.toContain(token);
  expect(sent).toContain('Look for [REDACTED:');
  expect(sent).toHaveLength(session.length);
});

it('keeps a session local if it does not say where it ran', () => {
  expect(decide({ excludes: ['/a'] }, Buffer.from('{"type":"user"}\n'))).toBe(
    'it does not name the folder where it ran',
  );
  expect(decide({ excludes: [], usageOnly: ['/'] }, toSession('/anywhere'))).toBe('usage only');
  expect(decide({ excludes: [], usageOnly: ['/'] }, Buffer.from('{}\n'))).toBe(
    'its usage cannot be separated from its texts',
  );
});

it('decides nothing if everything may be sent', () => {
  expect(createSendDecider({ excludes: [], usageOnly: [], redacts: false })).toBeUndefined();
});
