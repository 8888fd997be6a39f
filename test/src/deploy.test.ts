import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { renderChart } from './render-chart.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const KUBERNETES = join(ROOT, 'deploy/kubernetes');
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

const CHART = join(ROOT, 'deploy/helm/recount');
const MODELS = { Deployment, Service, PodDisruptionBudget, Job, Ingress };

interface Manifest {
  kind: keyof typeof MODELS;
  metadata: { name: string };
  spec: { template: { metadata: { labels: Record<string, string> }; spec: PodSpec }; selector: Selector };
}

interface Selector {
  matchLabels: Record<string, string>;
}

interface PodSpec {
  securityContext: object;
  initContainers?: Container[];
  containers: Container[];
}

interface Container {
  args: string[];
  env?: { name: string; value: string }[];
  envFrom: object[];
  image: string;
  imagePullPolicy?: string;
  securityContext: object;
  resources: { limits: { memory?: string } };
}

async function readManifests(): Promise<Manifest[]> {
  const { resources } = parse(await read('deploy/kubernetes/kustomization.yaml')) as { resources: string[] };
  const texts = await Promise.all(resources.map((name) => read(`deploy/kubernetes/${name}`)));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));
}

async function renderManifests(values: Record<string, unknown> = {}): Promise<Manifest[]> {
  const files = await renderChart(CHART, values);
  return [...files].flatMap(([name, text]) =>
    name.endsWith('.yaml')
      ? parseAllDocuments(text).flatMap((document) => {
          expect(document.errors, `${name}\n${text}`).toEqual([]);
          return (document.toJS() as Manifest | null) ?? [];
        })
      : [],
  );
}

/** Rights that no pod needs are not granted, and memory is bounded. */
function expectBounds(pods: readonly PodSpec[]): void {
  for (const { securityContext, initContainers = [], containers, ...pod } of pods) {
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
    expectBounds(pods);
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

describe('deploy/helm', () => {
  const INGRESS = { enabled: true, className: 'nginx', tlsSecretName: 'tls', annotations: { 'x/body-size': '0' } };

  it('is accepted by the Kubernetes API, with and without an ingress', async () => {
    const toNames = (manifests: Manifest[]) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const manifests = await renderManifests();
    expect(toNames(manifests)).toEqual([
      'Deployment recount-api',
      'Service recount',
      'PodDisruptionBudget recount-api',
      'Job recount-migrate',
      'Deployment recount-worker',
    ]);
    const full = await renderManifests({
      ingress: INGRESS,
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      image: { pullSecrets: [{ name: 'registry' }], tag: 'next' },
    });
    expect(toNames(full)).toContain('Ingress recount');
    for (const manifest of [...manifests, ...full]) new MODELS[manifest.kind](manifest as never).validate();
  });

  it('runs the same pods as deploy/kubernetes, which a job migrates the database for', async () => {
    const toPods = (manifests: Manifest[]) =>
      manifests.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.template.spec);
    const plain = toPods(await readManifests());
    const helm = toPods(await renderManifests());
    for (const [index, pod] of helm.entries()) {
      const { initContainers: _migrate, ...expected } = plain[index] as PodSpec;
      const withoutPlaces = (spec: PodSpec) => ({
        ...spec,
        containers: spec.containers.map(({ env, envFrom, image, imagePullPolicy, ...container }) => container),
      });
      expect(withoutPlaces(pod)).toEqual(withoutPlaces(expected));
    }
    const { configMapGenerator } = parse(await read('deploy/kubernetes/kustomization.yaml')) as {
      configMapGenerator: { literals: string[] }[];
    };
    const settings = helm[1]?.containers[0]?.env?.map(({ name, value }) => `${name}=${value}`);
    expect(settings).toEqual(configMapGenerator.flatMap(({ literals }) => literals));
    const jobs = (await renderManifests()).filter(({ kind }) => kind === 'Job');
    expect(jobs.flatMap(({ spec }) => spec.template.spec.containers.map(({ args }) => args))).toEqual([['migrate']]);
  });

  it('grants no unnecessary rights, bounds memory, and takes secrets from a secret that exists', async () => {
    const manifests = (await renderManifests()).filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
    const pods = manifests.map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(3);
    expectBounds(pods);
    for (const { envFrom } of pods.flatMap(({ containers }) => containers)) {
      expect(envFrom).toEqual([{ secretRef: { name: 'recount' } }]);
    }
  });

  it('selects its own pods, so that two releases in a namespace stay apart', async () => {
    for (const { kind, spec } of await renderManifests()) {
      if (kind !== 'Deployment') continue;
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      expect(spec.selector.matchLabels).toHaveProperty(['app.kubernetes.io/instance'], 'recount');
    }
  });

  it('has the version of this program, and sets only what docs/operations.md documents', async () => {
    const { version } = JSON.parse(await read('package.json')) as { version: string };
    const chart = parse(await read('deploy/helm/recount/Chart.yaml')) as { version: string; appVersion: string };
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
    const { config } = parse(await read('deploy/helm/recount/values.yaml')) as { config: Record<string, string> };
    const operations = await read('docs/operations.md');
    for (const name of Object.keys(config)) expect(operations).toContain(`\`${name}\``);
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
