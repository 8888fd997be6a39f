import { changeWorkspaceSettings, type DatabasePool } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';
import { createRedactionReader } from './redact-parameters.ts';

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const TOKEN = `ghp_${'a1B2'.repeat(9)}`;

/** The same database, which counts its SELECT statements. */
function countSelects(database: DatabasePool['database']) {
  const counted = { count: 0 };
  const counting = new Proxy(database, {
    get(target, property) {
      if (property === 'select') counted.count += 1;
      return Reflect.get(target, property);
    },
  });
  return { counted, database: counting };
}

it('reads the choice of redaction once for uploads that come together, and again for later ones', async () => {
  const { counted, database } = countSelects(installation.database.database);
  const read = createRedactionReader(database, TEST_WORKSPACE);
  const before = await Promise.all(Array.from({ length: 50 }, read));
  // The first does not wait for the others.
  expect(counted.count).toBe(2);
  for (const { toText } of before) expect(await toText(TOKEN)).toBe(TOKEN);
  await installation.database.withTransaction((transaction) =>
    changeWorkspaceSettings(transaction, TEST_WORKSPACE, { redaction: 'rows' }),
  );
  expect(await (await read()).toText(TOKEN)).not.toContain(TOKEN);
  expect(counted.count).toBe(3);
});
