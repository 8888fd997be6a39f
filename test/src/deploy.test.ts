import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');
const KUBERNETES = join(ROOT, 'deploy/kubernetes');
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

const MODELS = { Deployment, Service, PodDisruptionBudget };

interface Manifest {
  kind: keyof typeof MODELS;
  metadata: { name: string };
  spec: { template: { spec: PodSpec } };
}

interface PodSpec {
  securityContext: object;
  initContainers: Container[];
  containers: Container[];
}

interface Container {
  args: string[];
  securityContext: object;
  resources: { limits: { memory?: string } };
}

async function readManifests(): Promise<Manifest[]> {
  const { resources } = parse(await read('deploy/kubernetes/kustomization.yaml')) as { resources: string[] };
  const texts = await Promise.all(resources.map((name) => read(`deploy/kubernetes/${name}`)));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));
}

describe('deploy/kubernetes', () => {
  it('is accepted by the Kubernetes API', async () => {
    const manifests = await readManifests();
    expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'Deployment recount-api',
      'Service recount',
      'PodDisruptionBudget recount-api',
      'Deployment recount-worker',
    ]);
    for (const manifest of manifests) new MODELS[manifest.kind](manifest as never).validate();
  });

  it('grants no unnecessary rights, and bounds memory', async () => {
    const pods = (await readManifests())
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(2);
    for (const { securityContext, initContainers, containers, ...pod } of pods) {
      expect(pod).toMatchObject({ automountServiceAccountToken: false });
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of [...initContainers, ...containers]) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources.limits.memory).toMatch(/^\d+[MG]i$/);
      }
    }
  });

  it('sets only what docs/operations.md documents', async () => {
    const { configMapGenerator } = parse(await read('deploy/kubernetes/kustomization.yaml')) as {
      configMapGenerator: { literals: string[] }[];
    };
    const example = await readFile(join(KUBERNETES, 'secrets.env.example'), 'utf8');
    const settings = [...configMapGenerator.flatMap(({ literals }) => literals), ...example.trim().split('\n')];
    const operations = await read('docs/operations.md');
    for (const setting of settings) expect(operations).toContain(`\`${setting.split('=')[0]}\``);
  });
});

it('runs only existing scripts in workflows', async () => {
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
  for (const name of await readdir(join(ROOT, '.github/workflows'))) {
    const { jobs } = parse(await read(`.github/workflows/${name}`)) as {
      jobs: Record<string, { uses?: string; steps?: { run?: string; uses?: string | undefined }[] }>;
    };
    // A job is another workflow, or has steps.
    for (const { run = '', uses } of Object.values(jobs).flatMap(({ uses, steps = [{ uses }] }) => steps)) {
      expect(run !== '' || uses !== undefined).toBe(true);
      for (const [, script = ''] of run.matchAll(/\b(?:npm|pnpm)(?: run)? (test(?::\w+)?|package)\b/g)) {
        expect(Object.keys(scripts)).toContain(script);
      }
    }
  }
});
