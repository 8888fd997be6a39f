import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { findOnMachine, showFound } from '../backfill/found-sessions.ts';
import { showNotRead } from '../collector/connection-plan.ts';
import { openInput } from '../parse/open-input.ts';
import { createFakeContext } from '../testing/fake-context.ts';
import { showUsage } from './show-usage.ts';

let home: string;
let path: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-not-read-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  path = join(home, '.local/share/opencode/opencode.db');
  await mkdir(dirname(path), { recursive: true });
  const database = new DatabaseSync(path);
  const data = JSON.stringify({ role: 'user', time: { created: 1 } });
  database.exec(`PRAGMA synchronous = OFF;
    CREATE TABLE session (id text, time_updated integer);
    CREATE TABLE message (id text, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE session_v3 (id text);
    INSERT INTO session VALUES ('ses_1', 1);
    INSERT INTO message VALUES ('msg_1', 'ses_1', 1, 1, '${data}');
    INSERT INTO session_v3 VALUES ('ses_2'), ('ses_3')`);
  database.close();
});

const NAMED = 'table session_v3 (2 rows) is unknown. Update recount; the rows stay where they are';

it('names unknown tables of a known database wherever the database is read', async () => {
  const environment = { HOME: home };
  const context = createFakeContext({ environment });
  await showUsage(context, [], { cache: false });
  expect(context.err().replaceAll(/\s+/g, ' ')).toContain(NAMED);

  const listing = createFakeContext({ environment });
  await showFound(listing, await findOnMachine(listing, { agent: [] }), false);
  expect(listing.err()).toContain(NAMED);

  const connecting = createFakeContext({ environment });
  await showNotRead(connecting);
  expect(connecting.err()).toContain(NAMED);

  const parsing = createFakeContext({ environment });
  const { chunks } = await openInput(parsing, path);
  for await (const _chunk of chunks);
  expect(parsing.err()).toContain(NAMED);
});

it('lists them in JSON', async () => {
  const context = createFakeContext({ environment: { HOME: home } });
  await showUsage(context, [], { cache: false, json: true });
  expect(JSON.parse(context.out()).not_read).toEqual([{ path, reason: expect.stringContaining(NAMED) }]);
  const listing = createFakeContext({ environment: { HOME: home } });
  await showFound(listing, await findOnMachine(listing, { agent: [] }), true);
  expect(JSON.parse(listing.out()).places).toMatchObject([{ sessions: 1, not_read: [{ path }] }]);
});
