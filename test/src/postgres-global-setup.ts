import { randomBytes } from 'node:crypto';
import { migrateDatabase } from '@recount/db';
import { createDatabase, dropDatabase } from '@recount/local-postgres';
import type {} from '@recount/local-postgres/testing';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { createDistributedTemplate } from './citus-test-server.ts';
import { startPostgresTestServer } from './postgres-test-server.ts';

type Postgres = ProvidedContext['postgres'];

interface Template {
  provided: Postgres;
  /** Removes it, with its server. */
  drop(): Promise<void>;
}

/** This module is loaded again for each project. */
const shared = globalThis as { recountTemplate?: { users: number; prepared: Promise<Template> } | undefined };

/**
 * Prepares a migrated database for the tests of all projects to copy, and returns the function that removes it with its
 * server.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.recountTemplate ??= { users: 0, prepared: prepareTemplate(process.env) };
  const template = shared.recountTemplate;
  template.users += 1;
  const { provided, drop } = await template.prepared;
  project.provide('postgres', provided);
  return async () => {
    template.users -= 1;
    if (template.users > 0) return;
    shared.recountTemplate = undefined;
    await drop();
  };
}

async function prepareTemplate(environment: NodeJS.ProcessEnv): Promise<Template> {
  const { RECOUNT_TEST_CITUS_URL: citusUrl } = environment;
  if (citusUrl) {
    const { template, citusWorkerUrls, drop } = await createDistributedTemplate(citusUrl);
    console.log(`PostgreSQL for the tests: a Citus cluster of ${citusWorkerUrls.length} workers`);
    return { provided: { serverUrl: citusUrl, template, citusWorkerUrls }, drop };
  }
  console.log('Not run against Citus: RECOUNT_TEST_CITUS_URL names no coordinator of a cluster');
  const server = await startPostgresTestServer(environment);
  // Runs may share the server of TEST_DATABASE_URL.
  const template = `recount_template_${randomBytes(8).toString('hex')}`;
  const drop = async () => {
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
  } catch (error) {
    await drop();
    throw error;
  }
  return { provided: { serverUrl: server.serverUrl, template, citusWorkerUrls: [] }, drop };
}
