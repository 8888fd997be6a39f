import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiApp } from '../api-dependencies.ts';
import { addDashboard } from './dashboard.ts';
import { addProblemAnswers } from './problem-answers.ts';

const logged: string[] = [];
let directory: string;
let app: FastifyInstance;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-no-dashboard-'));
  const stream = { write: (line: string) => void logged.push(line) };
  app = fastify({ logger: { level: 'warn', stream } });
  const api = app as unknown as ApiApp;
  addProblemAnswers(api, await addDashboard(api, directory));
});
afterAll(async () => {
  await app.close();
  await rm(directory, { recursive: true });
});

it('says at its address and in the log how to build the dashboard if none is built', async () => {
  const answer = await app.inject({ url: '/?period=7d', headers: { accept: 'text/html' } });
  expect(answer.statusCode).toBe(404);
  expect(answer.json().detail).toContain('`npm start` builds it');
  expect(logged.join('')).toContain('`npm start` builds it');
});

it('answers other paths without a dashboard as before', async () => {
  const answer = await app.inject('/nothing');
  expect(answer.json()).toMatchObject({ status: 404, detail: 'There is nothing at this path' });
});
