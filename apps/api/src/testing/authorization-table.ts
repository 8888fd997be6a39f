/**
 * The credentials used for each route. The keys with a single scope belong to the workspace that owns the requested
 * object.
 */
export const CREDENTIALS = [
  'none',
  'malformed',
  'wrong',
  'revoked',
  'ingest',
  'read',
  'admin',
  /** All scopes, in another workspace: 404 means that it cannot see the object. */
  'other',
] as const;
export type Credential = (typeof CREDENTIALS)[number];

type StatusRow = readonly [number, number, number, number, number, number, number, number];

/**
 * The status of every route of the OpenAPI document for every credential, in the order of CREDENTIALS. A new route
 * needs a row here; otherwise the authorization test fails.
 */
export const AUTHORIZATION_TABLE: Readonly<Record<string, StatusRow>> = {
  // none, malformed, wrong, revoked, ingest, read, admin, other
  'GET /healthz': [200, 200, 200, 200, 200, 200, 200, 200],
  'GET /readyz': [200, 200, 200, 200, 200, 200, 200, 200],
  'POST /v1/transcripts': [401, 401, 401, 401, 202, 403, 202, 202],
  // Without the required headers.
  'PATCH /v1/transcripts/{transcript_id}': [401, 401, 401, 401, 400, 403, 400, 400],
  'GET /v1/disk': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/ingestion': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/notices': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/transcripts': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/transcripts/{transcript_id}': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/transcripts/{transcript_id}/issues': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/transcripts/{transcript_id}/raw': [401, 401, 401, 401, 403, 200, 200, 404],
  'HEAD /v1/transcripts/{transcript_id}/raw': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/transcripts/{transcript_id}/lines/{byte_offset}': [401, 401, 401, 401, 403, 200, 200, 404],
  'POST /v1/transcripts/{transcript_id}/reparse': [401, 401, 401, 401, 202, 403, 202, 404],
  'GET /v1/sessions': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/sessions/{session_id}': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/messages': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/outline': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/changes': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/costs': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/document': [401, 401, 401, 401, 403, 200, 200, 404],
  'POST /v1/sessions/{session_id}/share': [401, 401, 401, 401, 403, 403, 201, 404],
  'GET /v1/shares': [401, 401, 401, 401, 403, 200, 200, 200],
  'DELETE /v1/shares/{share_id}': [401, 401, 401, 401, 403, 403, 204, 404],
  'GET /shared/{token}': [200, 200, 200, 200, 200, 200, 200, 200],
  'PUT /v1/sessions/{session_id}/attachments': [401, 401, 401, 401, 201, 403, 201, 201],
  'GET /v1/sessions/{session_id}/attachments': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/attachments/{attachment_id}': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/subagents': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/events': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/sessions/{session_id}/checkpoints': [401, 401, 401, 401, 403, 200, 200, 404],
  'GET /v1/live': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/live/events': [401, 401, 401, 401, 403, 200, 200, 200],
  'POST /v1/sessions/{session_id}/live': [401, 401, 401, 401, 200, 403, 200, 200],
  'HEAD /v1/sessions/{session_id}/live': [401, 401, 401, 401, 404, 403, 404, 404],
  'GET /v1/search': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/export/usage': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/export/messages': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/export/sessions': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/prices': [401, 401, 401, 401, 403, 200, 200, 200],
  'PUT /v1/prices': [401, 401, 401, 401, 403, 403, 200, 200],
  'GET /v1/settings': [401, 401, 401, 401, 403, 200, 200, 200],
  'PUT /v1/settings': [401, 401, 401, 401, 403, 403, 200, 200],
  'GET /v1/audit': [401, 401, 401, 401, 403, 403, 200, 200],
  'GET /v1/key': [401, 401, 401, 401, 200, 200, 200, 200],
  'GET /v1/whoami': [401, 401, 401, 401, 403, 200, 200, 200],
  'POST /v1/sign-in': [401, 401, 401, 401, 403, 200, 200, 200],
  'POST /v1/sign-in/link': [401, 401, 401, 401, 401, 401, 401, 401],
  'POST /v1/sign-out': [204, 204, 204, 204, 204, 204, 204, 204],
  'GET /v1/sign-ins': [401, 401, 401, 401, 403, 403, 200, 200],
  'DELETE /v1/sign-ins/{sign_in_id}': [401, 401, 401, 401, 403, 403, 204, 404],
  // Form fields; JSON is accepted too. No code is pending.
  'POST /v1/device/code': [200, 200, 200, 200, 200, 200, 200, 200],
  'POST /v1/device/token': [400, 400, 400, 400, 400, 400, 400, 400],
  'POST /v1/device/approve': [401, 401, 401, 401, 403, 403, 404, 404],
  // Only for operators, because the test's key has the scope admin.
  'GET /v1/workspaces': [401, 401, 401, 401, 403, 403, 403, 403],
  'POST /v1/workspaces': [401, 401, 401, 401, 403, 403, 403, 403],
  'PUT /v1/workspaces/{workspace_id}/name': [401, 401, 401, 401, 403, 403, 403, 403],
  'GET /v1/checks': [401, 401, 401, 401, 403, 403, 200, 200],
  // It checks all workspaces, which only operators may do.
  'POST /v1/checks': [401, 401, 401, 401, 403, 403, 403, 403],
  'GET /v1/keys': [401, 401, 401, 401, 403, 403, 200, 200],
  'POST /v1/keys': [401, 401, 401, 401, 403, 403, 201, 201],
  'POST /v1/keys/{key_id}/rotate': [401, 401, 401, 401, 403, 403, 200, 404],
  'DELETE /v1/keys/{key_id}': [401, 401, 401, 401, 403, 403, 204, 404],
  'GET /v1/analytics/usage': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/models': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/sessions': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/blocks': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/disagreements': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/reconciliation': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/tools': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/files': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/programs': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/mcp-servers': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/skills': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/permission-denials': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/subagents': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/compactions': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/api-errors': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/pull-requests': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/findings': [401, 401, 401, 401, 403, 200, 200, 200],
  'GET /v1/analytics/model-choice': [401, 401, 401, 401, 403, 200, 200, 200],
  'DELETE /v1/transcripts/{transcript_id}': [401, 401, 401, 401, 403, 403, 204, 404],
  'DELETE /v1/sessions/{session_id}': [401, 401, 401, 401, 403, 403, 204, 404],
};

/** Request bodies of routes; functions, because some routes change what they get. */
export const REQUEST_BODIES: Readonly<Record<string, (uniqueName: string) => string>> = {
  'POST /v1/sessions/{session_id}/live': (uniqueName) => `{"type":"user","session_id":"${uniqueName}"}\n`,
  'POST /v1/transcripts': (uniqueName) => `{"type":"user","sessionId":"${uniqueName}"}\n`,
  'POST /v1/sessions/{session_id}/share': () => '{}',
  'POST /v1/workspaces': (uniqueName) => JSON.stringify({ name: uniqueName }),
  'PUT /v1/workspaces/{workspace_id}/name': (uniqueName) => JSON.stringify({ name: uniqueName }),
  'POST /v1/checks': () => JSON.stringify({ kind: 'doctor', scope: 'installation' }),
  'POST /v1/keys': (uniqueName) => JSON.stringify({ name: uniqueName, scopes: ['ingest'] }),
  'POST /v1/keys/{key_id}/rotate': () => '{}',
  'POST /v1/device/code': (uniqueName) => JSON.stringify({ machine: uniqueName }),
  'POST /v1/device/token': () => '{}',
  'POST /v1/device/approve': () => JSON.stringify({ user_code: 'BBBB-BBBB' }),
  'PUT /v1/sessions/{session_id}/attachments': (uniqueName) => uniqueName,
  'PUT /v1/prices': () => '{}',
  'PUT /v1/settings': () => '{}',
};

export const REQUEST_QUERIES: Readonly<Record<string, string>> = {
  'HEAD /v1/sessions/{session_id}/live': '?stream=01J00000000000000000000000',
  'GET /v1/search': '?q=prompt',
  'PUT /v1/sessions/{session_id}/attachments': '?agent=claude-code&path=tool-results/b1.txt',
};
