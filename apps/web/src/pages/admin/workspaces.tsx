import type { WorkspaceList } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { Count, Time } from '../../ui/figures.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Answered } from '../../ui/states.tsx';
import { CreateForm } from './admin-forms.tsx';
import { WideTable } from './wide-table.tsx';

type Workspace = WorkspaceList['workspaces'][number];

const MAX_NAME_LENGTH = 100;
/** The workspace that commands use if they name none, and the API does not rename it. */
const DEFAULT_WORKSPACE = 'default';

const readName = (form: HTMLFormElement): string => String(new FormData(form).get('name')).trim();

/** The current workspace; for operators, all workspaces by name. */
export function Workspaces(): ReactNode {
  const whoami = useAnswer('/v1/whoami', {});
  return (
    <section aria-labelledby="workspaces">
      <h2 id="workspaces">Workspaces</h2>
      <Answered of={whoami}>
        {({ workspace, workspace_id, scopes }) => (
          <>
            <p>
              You are signed in to <strong>{workspace}</strong> <code>{workspace_id}</code>. Its keys, prices, secrets
              and retention are on this page; nothing of another workspace is.
            </p>
            {scopes.includes('operator') ? <AllWorkspaces ownId={workspace_id} /> : <NoOperator />}
          </>
        )}
      </Answered>
    </section>
  );
}

const NoOperator = (): ReactNode => (
  <p className="muted">
    To list, create and rename workspaces, sign in with a key of an operator: on the server,{' '}
    <code>recount keys create --name operator --scopes read,admin,operator</code> makes one.
  </p>
);

function AllWorkspaces({ ownId }: { ownId: string }): ReactNode {
  const list = useAnswer('/v1/workspaces', {});
  const [renamed, setRenamed] = useState<Workspace>();
  return (
    <>
      <NewWorkspace />
      <Answered of={list}>
        {({ workspaces }) => (
          <WideTable
            label="Workspaces"
            rows={workspaces}
            toKey={({ id }) => id}
            columns={[
              {
                head: 'Name',
                cell: ({ id, name }) => (
                  <>
                    {name} {id === ownId && <span className="tag">yours</span>}
                  </>
                ),
              },
              { head: 'Id', cell: ({ id }) => <code>{id}</code> },
              { head: 'Created', cell: ({ created_at }) => <Time iso={created_at} /> },
              { head: 'Keys', cell: ({ api_key_count }) => <Count value={api_key_count} /> },
              {
                head: 'Change',
                cell: (workspace) =>
                  workspace.name === DEFAULT_WORKSPACE ? (
                    <span className="muted">keeps its name</span>
                  ) : (
                    <button type="button" onClick={() => setRenamed(workspace)}>
                      Rename<span className="hidden-label"> {workspace.name}</span>
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Answered>
      <p className="muted">
        To open a workspace, sign in with one of its keys. To delete one with everything in it, use{' '}
        <code>recount workspaces delete NAME</code> on the server.
      </p>
      {renamed !== undefined && <Renaming workspace={renamed} close={() => setRenamed(undefined)} />}
    </>
  );
}

function NewWorkspace(): ReactNode {
  const create = useMutation({
    mutationFn: (body: Body<'/v1/workspaces', 'post'>) => send('post', '/v1/workspaces', { body }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['/v1/workspaces'] }),
  });
  return (
    <CreateForm
      label={{ summary: 'Create a workspace', button: 'Create the workspace' }}
      of={create}
      toRequest={(form) => ({ name: readName(form) })}
      note={
        create.data !== undefined && (
          <p role="status">
            {create.data.name} is created, and has no key yet. On the server, this creates its first:{' '}
            <code>recount keys create --workspace {quote(create.data.name)} --name first --scopes read,admin</code>
          </p>
        )
      }
    >
      <label>
        Name
        <input name="name" required maxLength={MAX_NAME_LENGTH} placeholder="research" />
      </label>
    </CreateForm>
  );
}

/** Quoted as one word for a shell. */
const quote = (name: string): string => (/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", String.raw`'\''`)}'`);

function Renaming({ workspace: { id, name }, close }: { workspace: Workspace; close: () => void }): ReactNode {
  const rename = useMutation({
    mutationFn: (body: Body<'/v1/workspaces', 'post'>) =>
      send('put', '/v1/workspaces/{workspace_id}/name', { parameters: { workspace_id: id }, body }),
    onSuccess: async () => {
      close();
      await queryClient.invalidateQueries();
    },
  });
  return (
    <FormDialog
      title={`Rename ${name}`}
      className="admin-form"
      label="Rename it"
      of={rename}
      submit={(form) => rename.mutate({ name: readName(form) })}
      close={close}
    >
      <p>
        Keys and uploads stay. Commands with <code>--workspace {name}</code> need the new name from now on.
      </p>
      <label>
        New name
        <input name="name" required maxLength={MAX_NAME_LENGTH} defaultValue={name} />
      </label>
    </FormDialog>
  );
}
