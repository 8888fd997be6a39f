import type { AddressedReport, WasteKind } from '@recount/contract';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { toToday } from '../../format/period.ts';
import { type Body, send } from '../../server-data/client.ts';
import { queryClient } from '../../server-data/use-answer.ts';
import { FormDialog } from '../../ui/form.tsx';
import { KINDS } from './finding-kinds.ts';

const MAX_NOTE_LENGTH = 300;

interface AddressDialogProps {
  kind: WasteKind;
  row: AddressedReport['rows'][number] | undefined;
  close: () => void;
}

/** The form that says since when a kind of finding is addressed. */
export function AddressDialog({ kind, row, close }: AddressDialogProps): ReactNode {
  const mark = useMutation({
    mutationFn: (body: Body<'/v1/findings/addressed/{kind}', 'put'>) =>
      send('put', '/v1/findings/addressed/{kind}', { parameters: { kind }, body }),
    onSuccess: async () => {
      await queryClient.invalidateQueries();
      close();
    },
  });
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const note = String(data.get('note') ?? '').trim();
    mark.mutate({ since: String(data.get('since')), ...(note !== '' && { note }) });
  };
  return (
    <FormDialog title={`Addressed: ${KINDS[kind].label}`} of={mark} submit={submit} close={close}>
      <label>
        First day when it is different
        <input name="since" type="date" required defaultValue={row?.since ?? toToday()} max={toToday()} />
      </label>
      <label>
        What was done (optional)
        <input name="note" defaultValue={row?.note ?? ''} maxLength={MAX_NOTE_LENGTH} />
      </label>
      <p className="muted">
        The weeks after this day are then compared with those before it. Everyone in this workspace sees it.
      </p>
    </FormDialog>
  );
}
