import { randomBytes } from 'node:crypto';
import { migrateDatabase } from '@recount/db';
import { migrateQueue } from '@recount/ingest/queue';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import type {} from '@recount/local-postgres/testing';
import type { TestProject } from 'vitest/node';
import { createDistributedTemplate } from './citus-test-server.ts';
import { startPostgresTestServer } from './postgres-test-server.ts';

/**
 * Prepares a migrated database for tests to copy, and returns the function that removes it with its server.
 * Its name is unique, so that runs may share the server of TEST_DATABASE_URL.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { RECOUNT_TEST_CITUS_URL: citusUrl } = process.env;
  if (citusUrl) return await setupCitus(project, citusUrl);
  console.log('Not run against Citus: RECOUNT_TEST_CITUS_URL names no coordinator of a cluster');
  const server = await startPostgresTestServer(process.env);
  const template = `recount_template_${randomBytes(8).toString('hex')}`;
  const teardown = async () => {
    try {
      await dropDatabase(server.serverUrl, template);
    } finally {
      await server.stop();
    }
  };
  try {
    console.log(`PostgreSQL for the tests: ${server.description}`);
    const connectionString = await createDatabase(server.serverUrl, template);
    await migrateDatabase(connectionString);
    await migrateQueue(connectionString);
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide('postgres', { serverUrl: server.serverUrl, template, citusWorkerUrls: [] });
  return teardown;
}

async function setupCitus(project: TestProject, serverUrl: string): Promise<() => Promise<void>> {
  const { template, citusWorkerUrls, drop } = await createDistributedTemplate(serverUrl);
  console.log(`PostgreSQL for the tests: a Citus cluster of ${citusWorkerUrls.length} workers`);
  project.provide('postgres', { serverUrl, template, citusWorkerUrls });
  return drop;
}
