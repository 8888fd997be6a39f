import { expect, it } from 'vitest';
import { createDisclosure } from './disclosure.ts';

const toSession = (cwd: string): Buffer =>
  Buffer.from(
    `${JSON.stringify({ type: 'summary', summary: 'x', leafUuid: 'y' })}\n${JSON.stringify({
      ...{ type: 'user', sessionId: 's', cwd, timestamp: '2026-03-02T09:40:00.000Z', uuid: 'u' },
      message: { role: 'user', content: 'Look for the heron' },
    })}\n`,
  );

const decide = (connection: Parameters<typeof createDisclosure>[0], head: Buffer): string | undefined => {
  const disclosure = createDisclosure(connection)?.('/home/ada/.claude/projects/-app/s.jsonl', head);
  if (disclosure?.kind === 'nothing') return disclosure.reason;
  return disclosure?.kind === 'rewritten' ? disclosure.what : disclosure?.kind;
};

it('goes by the folder in which the session ran', () => {
  const connection = { excludes: ['/home/ada/private'], usageOnly: ['/work'], redacts: true };
  expect(decide(connection, toSession('/home/ada/private/diary'))).toBe('excluded: /home/ada/private');
  expect(decide(connection, toSession('/home/ada/privately'))).toBe('without secrets');
  expect(decide(connection, toSession('/work'))).toBe('usage only');
  expect(decide({ ...connection, redacts: false }, toSession('/home/ada'))).toBe('everything');
});

it('keeps here what does not say where it ran', () => {
  expect(decide({ excludes: ['/a'] }, Buffer.from('{"type":"user"}\n'))).toBe('it does not say in which folder it ran');
  expect(decide({ excludes: [], usageOnly: ['/'] }, toSession('/anywhere'))).toBe('usage only');
  expect(decide({ excludes: [], usageOnly: ['/'] }, Buffer.from('{}\n'))).toBe('its usage alone cannot be told');
});

it('has nothing to decide where everything may go', () => {
  expect(createDisclosure({ excludes: [], usageOnly: [], redacts: false })).toBeUndefined();
});
