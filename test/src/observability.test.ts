import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { addSpaceGauges } from '@recount/api/disk-space';
import { createMetrics } from '@recount/api/metrics';
import { TRANSCRIPT_STATUSES } from '@recount/db';
import { createWorkerMetrics } from '@recount/worker/worker-metrics';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const FOLDER = resolve(import.meta.dirname, '../../deploy/observability');
const read = (name: string): Promise<string> => readFile(join(FOLDER, name), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

interface Panel {
  id: number;
  type: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string }[];
}

/** Labels that Prometheus adds, and the one of a histogram's buckets. */
const ADDED_LABELS = ['job', 'instance', 'le'];
const VALUES: Record<string, readonly string[]> = {
  'recount_transcripts.status': TRANSCRIPT_STATUSES,
  'recount_queue_jobs.state': ['waiting'],
  'recount_search_sessions.state': ['waiting', 'failing'],
  'recount_database_connections.state': ['idle', 'used', 'waiting'],
};

/** The labels of each series that the API and a worker expose, without asking their database. */
function listSeries(): Map<string, readonly string[]> {
  const pool = { totalCount: 0, idleCount: 0, waitingCount: 0 };
  const api = createMetrics({ database: { pool } as never, log: pino({ level: 'silent' }) });
  addSpaceGauges(api.registry, {} as never);
  const registries = [api.registry, createWorkerMetrics(pool).registry];
  const series = new Map<string, readonly string[]>();
  for (const metric of registries.flatMap((registry) => registry.getMetricsAsArray())) {
    const { name, type, labelNames = [] } = metric as unknown as { name: string; type: string; labelNames?: string[] };
    const isHistogram = type === 'histogram' || 'upperBounds' in metric;
    for (const suffix of isHistogram ? ['_bucket', '_sum', '_count'] : ['']) series.set(name + suffix, labelNames);
  }
  return series;
}

async function listExpressions(): Promise<string[]> {
  const { panels } = JSON.parse(await read('grafana-board.json')) as { panels: Panel[] };
  const rules = await listRules();
  return [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))];
}

async function listRules(): Promise<Rule[]> {
  const { groups } = parse(await read('prometheus-rules.yaml')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

describe('deploy/observability', () => {
  it('names only metrics and labels that the API and workers expose', async () => {
    const series = listSeries();
    const expressions = await listExpressions();
    expect(expressions.length).toBeGreaterThan(30);
    for (const expression of expressions) {
      const used = [...expression.matchAll(/\b((?:recount|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)];
      expect(used, expression).not.toHaveLength(0);
      const known = used.flatMap(([, name = '']) => series.get(name) ?? []);
      for (const [, name = '', matchers = ''] of used) {
        expect([...series.keys()], expression).toContain(name);
        for (const [, label = '', operator, value = ''] of matchers.matchAll(/(\w+)(=~?)"([^"]*)"/g)) {
          expect([...ADDED_LABELS, ...(series.get(name) ?? [])], expression).toContain(label);
          const values = VALUES[`${name}.${label}`];
          if (operator === '=' && values !== undefined) expect(values, expression).toContain(value);
        }
      }
      for (const [, labels = ''] of expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)) {
        for (const label of labels.split(', ')) expect([...ADDED_LABELS, ...known], expression).toContain(label);
      }
    }
  });

  it('has a panel or an alert for each metric of recount', async () => {
    const text = (await listExpressions()).join('\n');
    const names = [...listSeries().keys()].filter((name) => name.startsWith('recount_'));
    const unused = names.filter((name) => !text.includes(name.replace(/_(bucket|sum|count)$/, '')));
    expect(unused).toEqual([]);
  });

  it('says of each alert how severe it is, what happens, and what to do', async () => {
    const rules = await listRules();
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary.length, alert).toBeGreaterThan(10);
      expect(annotations.description.length, alert).toBeGreaterThan(10);
    }
  });

  it('has panels that do not overlap, each with its own id', async () => {
    const { panels } = JSON.parse(await read('grafana-board.json')) as { panels: Panel[] };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { id, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, `panel ${id}`).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x} ${y}`), `panel ${id}`).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});
