import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { withClient } from './databases.ts';
import { createTestDatabase } from './testing.ts';

test('each test database is separate, and is dropped together with the connections to it', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  onTestFinished(async () => {
    await Promise.all([one.drop(), other.drop()]);
  });
  await withClient(one.connectionString, (client) => client.query('CREATE TABLE mine AS SELECT 1'));
  await expect(withClient(other.connectionString, (client) => client.query('SELECT FROM mine'))).rejects.toMatchObject({
    code: '42P01',
  });

  const lingering = new Client(one.connectionString);
  const lost = new Promise((resolve) => lingering.on('error', resolve));
  await lingering.connect();
  await one.drop();
  expect(await lost).toMatchObject({ code: '57P01' });
  await expect(withClient(one.connectionString, (client) => client.query('SELECT'))).rejects.toMatchObject({
    code: '3D000',
  });
});
