import { HOME_WORKSPACE } from '@recount/api/testing/test-api';
import type { DeviceCode, DeviceToken, MaintenanceCheckList, WorkspaceList } from '@recount/contract';
import { addAuditEntry, createApiKey, VERIFIED_TABLE_COUNT } from '@recount/db';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findBrowser } from './browser.ts';
import { expectNoFault } from './expect-no-fault.ts';
import { SESSION, uploadSamples } from './samples.ts';
import { DESKTOP, PHONE } from './shared-browser.ts';
import { readSignedInUrl, signInPage } from './sign-in.ts';
import { type Dashboard, startDashboard } from './start-dashboard.ts';

const executablePath = findBrowser();

let dashboard: Dashboard;

beforeAll(async () => {
  if (executablePath === undefined) return;
  dashboard = await startDashboard();
  await uploadSamples(dashboard.api);
});
afterAll(() => dashboard?.close());
afterEach(() => dashboard?.closePages());

/** Signs in again with a key that also has the scope operator. */
async function becomeOperator(page: Page): Promise<void> {
  const { api } = dashboard;
  const scopes = ['read', 'admin', 'operator'] as const;
  const { key } = await createApiKey(api.database.database, { workspaceId: HOME_WORKSPACE, name: 'operator', scopes });
  await signInPage(page, api.url, key);
  await page.reload();
}

describe.skipIf(executablePath === undefined)('a window of 1024 pixels', () => {
  it('shows all tabs of Admin, and the whole name of the open page in the menu', async () => {
    const page = await dashboard.open('/admin');
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.getByRole('button', { name: 'Audit log' }).waitFor();
    const hidden = `(() => {
      const tabs = document.querySelector('.admin-page .segments');
      const isHidden = (tab) => tab.getBoundingClientRect().right > tabs.getBoundingClientRect().right;
      return [...tabs.children].filter(isHidden).map((tab) => tab.textContent);
    })()`;
    expect(await page.evaluate(hidden)).toEqual([]);
    await page.getByRole('link', { name: 'People and machines' }).click();
    await page.locator('nav a[aria-current=page]', { hasText: 'People and machines' }).waitFor();
    const cut = "[...document.querySelectorAll('nav a')].filter((link) => link.scrollWidth > link.clientWidth).length";
    expect(await page.evaluate(cut)).toBe(0);
  });

  it('shows the details of the audit log beside actions on many sessions', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `40000000-0000-4000-8000-${String(index).padStart(12, '0')}`);
    await addAuditEntry(dashboard.api.database.database, {
      ...{ workspaceId: HOME_WORKSPACE, actor: 'system', action: 'texts.read', subjects: ids },
      details: { note: 'the last column' },
    });
    const page = await dashboard.open('/admin?view=audit', { viewport: { width: 1024, height: 768 } });
    const details = page.getByRole('cell', { name: 'note: the last column' });
    await details.waitFor();
    const table = await page.getByRole('region', { name: 'Audit log', exact: true }).last().boundingBox();
    const cell = await details.boundingBox();
    expect((cell?.x ?? 0) + (cell?.width ?? 0)).toBeLessThanOrEqual((table?.x ?? 0) + (table?.width ?? 0));
  });

  it('has the cost beside the name in tables with more columns than fit', async () => {
    const page = await dashboard.open('/people?period=all', { viewport: { width: 1024, height: 768 } });
    const heads = page.getByRole('table', { name: 'People', exact: true }).getByRole('columnheader');
    await heads.first().waitFor();
    expect((await heads.allTextContents()).slice(0, 2).map((head) => head.trim())).toEqual(['Person', 'Cost']);
  });
});

describe.skipIf(executablePath === undefined)('checks in a browser', () => {
  it('find faults, say what to do, and repair when asked to', async () => {
    const { api } = dashboard;
    const { pool } = api.database;
    const page = await dashboard.open('/admin?view=checks');
    const doctor = page.getByRole('region', { name: 'Storage check', exact: true });
    await doctor.getByRole('button', { name: 'Run check' }).click();
    await doctor.getByText('No problems found.').waitFor();

    // As if its job had been lost an hour ago.
    const { rows } = await pool.query(
      `UPDATE recount.transcripts SET status = 'queued', created_at = now() - interval '2 hours'
       WHERE session_id = $1 RETURNING id`,
      [SESSION],
    );
    await doctor.getByRole('button', { name: 'Run check' }).focus();
    await page.keyboard.press('Enter');
    await doctor.getByText('1 finding, 1 needs attention.').waitFor();
    await doctor.getByText('Transcripts that wait for a job which is not in the queue').waitFor();
    await expect.poll(() => doctor.getByRole('link', { name: rows[0].id }).getAttribute('href')).toContain(rows[0].id);

    await doctor.getByRole('button', { name: 'Repair …' }).click();
    await page.getByRole('button', { name: 'Repair it' }).click();
    await doctor.getByText('Their jobs were enqueued again.').waitFor();
    await api.work();
    const { checks } = await dashboard.ask<MaintenanceCheckList>('/v1/checks');
    expect(checks.filter(({ kind }) => kind === 'doctor')).toMatchObject([
      { report_is_fix: true, doctor: { needAttention: 0 } },
    ]);
  });

  it('count figures again with a progress bar, for every viewer', async () => {
    const { database } = dashboard.api;
    const client = await database.pool.connect();
    try {
      // The check waits for this.
      await client.query('BEGIN; LOCK TABLE recount.usage_ledger IN ACCESS EXCLUSIVE MODE');
      const page = await dashboard.open('/admin?view=checks');
      await page.getByRole('button', { name: 'Run recount' }).click();
      await page.getByText(`Counting usage ledger: 3 of ${VERIFIED_TABLE_COUNT} …`).waitFor();
      await expect.poll(() => page.getByRole('progressbar').getAttribute('value')).toBe('3');
      await expect.poll(() => page.getByRole('button', { name: 'Run recount' }).isDisabled()).toBe(true);
      await page.close();
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    const page = await dashboard.open('/admin?view=checks', { viewport: PHONE });
    await page.getByText('Every figure equals a full recount.').waitFor();
    expect(await page.getByRole('heading', { name: 'Storage check, all workspaces' }).count()).toBe(0);
    await expectNoFault(page);
    await becomeOperator(page);
    await page.getByRole('heading', { name: 'Storage check, all workspaces' }).waitFor();
  });
});

describe.skipIf(executablePath === undefined)('workspaces in a browser', () => {
  it('are listed, created and renamed by operators only', async () => {
    const page = await dashboard.open('/admin?view=workspaces', { viewport: DESKTOP });
    await page.getByText('You are signed in to home').waitFor();
    await page.getByText('recount keys create --name operator').waitFor();
    expect(await page.content()).not.toContain('>other<');
    await expectNoFault(page);

    await becomeOperator(page);
    await page.getByRole('cell', { name: 'other', exact: true }).waitFor();
    await page.locator('summary', { hasText: 'Create a workspace' }).click();
    await page.getByLabel('Name', { exact: true }).fill('made in a browser');
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await page.getByText("recount keys create --workspace 'made in a browser'").waitFor();
    await page.getByRole('button', { name: 'Rename made in a browser' }).click();
    await page.getByLabel('New name').fill('other');
    await page.getByRole('button', { name: 'Rename it' }).click();
    await page.getByText('There is a workspace other already').waitFor();
    await page.getByLabel('New name').fill('renamed');
    await page.getByRole('button', { name: 'Rename it' }).click();
    await page.getByRole('cell', { name: 'renamed', exact: true }).waitFor();
    await expectNoFault(page);
    const signedIn = await readSignedInUrl(page);
    const listed = (await (await page.request.get(`${signedIn}/v1/workspaces`)).json()) as WorkspaceList;
    expect(listed.workspaces.map(({ name }) => name)).toEqual(['home', 'other', 'renamed']);
  });
});

describe.skipIf(executablePath === undefined)('a new machine in a browser', () => {
  /** Posts like a machine, without a key. */
  const post = async <Answer>(path: string, form: Record<string, string>): Promise<Answer> => {
    const body = new URLSearchParams(form);
    return (await (await fetch(dashboard.api.url + path, { method: 'POST', body })).json()) as Answer;
  };

  it('gets its own key once an admin has typed its code, and only then', async () => {
    const code = await post<DeviceCode>('/v1/device/code', {
      client_id: 'recount',
      machine: 'heron',
      scope: 'ingest read',
    });
    const token = () =>
      post<DeviceToken & { error?: string }>('/v1/device/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: 'recount',
        device_code: code.device_code,
      });
    expect(await token()).toEqual({ error: 'authorization_pending' });

    const page = await dashboard.open('/admin');
    await page.locator('summary', { hasText: 'Connect a machine' }).click();
    const codeField = page.getByLabel('Code that recount connect shows');
    await codeField.fill('WRNG-CODE');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('No machine is waiting with this code').waitFor();
    await codeField.fill(code.user_code.toLowerCase());
    await page.getByLabel('Owner of the machine').fill('ada@example.org');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('heron fetches its key (ingest, read)').waitFor();
    await expectNoFault(page);

    const { access_token: key } = await token();
    const own = await fetch(`${dashboard.api.url}/v1/sessions`, { headers: { authorization: `Bearer ${key}` } });
    expect(own.status).toBe(200);
    await page.getByRole('table').getByText('heron').first().waitFor();
    expect(await page.content()).not.toContain(key);
  });
});
