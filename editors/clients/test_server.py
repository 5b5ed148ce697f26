"""`qlio lsp` and pytest-lsp: a client whose types are made from the protocol's own description, so that an answer of
the wrong shape fails while it is read. `QLIO` names the executable.
"""

import asyncio
import os

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

TABLE = "-- All goods.\ncreate table shop.goods on select get from 'http://h.test/{^key}?lang={lang}'\n"
ROUTE = "found = select name, price from shop.goods where key = '1'\nreturn found via route '/a' using method get\n"
BROKEN = "return select x frm shop.goods where key = '1'\n"
PATIENCE = 60


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["QLIO"], "lsp"]))
async def client(lsp_client: LanguageClient, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "routes").mkdir()
    (tmp_path / "qlio.json").write_text("{}")
    (tmp_path / "tables" / "shop.ql").write_text(TABLE)
    (tmp_path / "routes" / "a.ql").write_text(ROUTE)
    lsp_client.folder = tmp_path
    lsp_client.watched = watched = []
    # The server asks to be told of changed files.
    lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: watched.extend(params.registrations))
    # What VS Code says that it can do, so that nothing is left out for lack of a client's wish.
    capabilities = pytest_lsp.client_capabilities("visual-studio-code")
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            workspace_folders=[types.WorkspaceFolder(uri=tmp_path.as_uri(), name="app")],
        )
    )
    yield
    await lsp_client.shutdown_session()


def opened(client, name, text):
    """Opens a document; answers how requests call it."""
    uri = (client.folder / name).as_uri()
    document = types.TextDocumentItem(uri=uri, language_id="qlio", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    return types.TextDocumentIdentifier(uri=uri)


def at(text, part):
    """The place where a part of a text begins."""
    before = text[: text.index(part)]
    return types.Position(line=before.count("\n"), character=len(before) - before.rfind("\n") - 1)


async def test_problems_are_told_with_codes_and_fixes(client):
    document = opened(client, "routes/b.ql", BROKEN)
    report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
    [problem] = report.items
    assert "did you mean `from`" in problem.message
    assert problem.code == "Q1001 unexpected-token"
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=document, range=problem.range, context=types.CodeActionContext(diagnostics=[problem])
        )
    )
    edits = [edit for action in actions for changes in action.edit.changes.values() for edit in changes]
    assert [edit.new_text for edit in edits] == ["from"]


async def test_names_are_completed_and_explained(client):
    document = opened(client, "routes/a.ql", ROUTE)
    place = at(ROUTE, "goods where")
    completed = await client.text_document_completion_async(
        types.CompletionParams(text_document=document, position=place)
    )
    assert "shop.goods" in [item.label for item in completed.items]
    hover = await client.text_document_hover_async(types.HoverParams(text_document=document, position=place))
    assert "All goods." in hover.contents.value
    help = await client.text_document_signature_help_async(
        types.SignatureHelpParams(text_document=document, position=at(ROUTE, "key = "))
    )
    assert "key" in help.signatures[0].label


async def test_definitions_and_references_lead_through_files(client):
    document = opened(client, "routes/a.ql", ROUTE)
    place = at(ROUTE, "shop.goods")
    found = await client.text_document_definition_async(
        types.DefinitionParams(text_document=document, position=place)
    )
    found = found if isinstance(found, list) else [found]
    assert [location.uri for location in found] == [(client.folder / "tables/shop.ql").as_uri()]
    used = await client.text_document_references_async(
        types.ReferenceParams(
            text_document=document, position=place, context=types.ReferenceContext(include_declaration=True)
        )
    )
    assert {location.uri.rsplit("/", 1)[1] for location in used} == {"a.ql", "shop.ql"}
    renamed = await client.text_document_rename_async(
        types.RenameParams(text_document=document, position=at(ROUTE, "found"), new_name="goods")
    )
    edits = next(iter(renamed.changes.values()))
    assert len(edits) == 2 and {edit.new_text for edit in edits} == {"goods"}


@pytest.mark.parametrize(
    "method, kind",
    [
        ("text_document_document_symbol_async", types.DocumentSymbolParams),
        ("text_document_folding_range_async", types.FoldingRangeParams),
        ("text_document_code_lens_async", types.CodeLensParams),
        ("text_document_semantic_tokens_full_async", types.SemanticTokensParams),
    ],
)
async def test_whole_documents_are_described(client, method, kind):
    document = opened(client, "routes/a.ql", ROUTE)
    answer = await getattr(client, method)(kind(text_document=document))
    assert answer is not None
    if kind is types.SemanticTokensParams:
        assert len(answer.data) > 0 and len(answer.data) % 5 == 0


async def test_the_files_of_a_table_are_links(client):
    text = "create table p on select get from 'http://h.test/'\n  using patch 'hooks/p'\n"
    document = opened(client, "tables/p.ql", text)
    [link] = await client.text_document_document_link_async(types.DocumentLinkParams(text_document=document))
    assert link.target == (client.folder / "tables/hooks/p.js").as_uri()
    assert link.range.start == at(text, "'hooks")


async def test_a_text_is_formatted_and_its_changes_are_followed(client):
    document = opened(client, "routes/c.ql", "return   1")
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    ask = types.DocumentFormattingParams(text_document=document, options=options)
    [edit] = await client.text_document_formatting_async(ask)
    assert edit.new_text.strip() in "return 1"
    whole = types.TextDocumentContentChangeWholeDocument(text="return  2")
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(uri=document.uri, version=2), content_changes=[whole]
        )
    )
    asked = client.text_document_diagnostic_async(types.DocumentDiagnosticParams(text_document=document))
    report = await asyncio.wait_for(asked, PATIENCE)
    assert list(report.items) == []
    assert [one.method for one in client.watched] == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]
