"""The pages: each is shown as HTML, and under the same address with .json as data."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import scorebars as sb
from scorebars._shared.score_views import ANSWER_NAMES, QUESTIONS
from scorebars._shared.writing import as_json
from scorebars.files.formats import PREFIX, shipped_names
from scorebars.files.problem import TableProblem
from scorebars.report.build import page_script, page_style, templates_of
from scorebars.web import calculator, curves, forms, questions
from scorebars.web.jobs import Jobs, stop
from scorebars.web.limits import Limits, Refused, in_words
from scorebars.web.sessions import HeldFile, Session, Sessions
from scorebars.web.uploads import received
from scorebars.web.view import View
from scorebars.web.wording import for_page

_PATIENCE = 1.5
"""Seconds after which a page says what is being done instead of making the visitor wait."""
_ENDINGS = {
    "html": "text/html",
    "json": "application/json",
    "csv": "text/csv",
    "tex": "application/x-tex",
    "md": "text/markdown",
    "txt": "text/plain",
    "py": "text/x-python",
    "sh": "text/plain",
    "svg": "image/svg+xml",
    "png": "image/png",
}
EXPORTS = (
    ("report.html", "The whole report as one file"),
    ("scores.json", "All numbers as JSON"),
    ("scores.csv", "All numbers as CSV"),
    ("table.tex", "A table for LaTeX"),
    ("table.md", "A table in Markdown"),
    ("sentence.txt", "Sentences for a paper"),
    ("code.py", "Python code for this view"),
    ("command.sh", "The command line for this view"),
)
FIGURES = (
    ("distribution", "Distribution"),
    ("noise_budget", "Noise budget"),
    ("parity", "Predictions"),
    ("forest", "Models"),
)


@cache
def _environment() -> jinja2.Environment:
    environment = templates_of("scorebars.web")
    environment.globals |= {"version": sb.__version__, "query": urlencode}
    environment.globals |= {"answer_names": ANSWER_NAMES, "asks": {one.name: one.asks for one in QUESTIONS}}
    environment.filters["path"] = lambda text: quote(str(text), safe=":")
    environment.filters["size"] = in_words
    return environment


def _page(name: str, status: int = 200, **context: Any) -> Response:
    text = _environment().get_template(name).render(**context)
    return Response(text, status, media_type="text/html; charset=utf-8")


def _json(value: Any) -> Response:
    return Response(as_json(value), media_type="application/json")


@cache
def _static(name: str) -> tuple[str, str]:
    own = files("scorebars.web") / "static"

    def text(file: str) -> str:
        return (own / file).read_text(encoding="utf-8")

    if name == "page.css":
        return page_style() + text("web.css"), "text/css"
    if name == "result.js":
        return page_script(text("live.js")), "text/javascript"
    if name == "form.js":
        return text("form.js"), "text/javascript"
    if name == "icon.svg":
        return text("icon.svg"), "image/svg+xml"
    raise Refused("There is nothing here.", 404)


class _Instead(Exception):
    """Another page is shown than the one that was asked for."""

    def __init__(self, page: Response) -> None:
        super().__init__()
        self.page = page


class Pages:
    """All pages of one server."""

    def __init__(self, sessions: Sessions, jobs: Jobs, limits: Limits) -> None:
        self.sessions, self.jobs, self.limits = sessions, jobs, limits

    def app(self) -> Starlette:
        """The routes."""
        shown: list[tuple[str, Callable[[Request], Awaitable[Response]], str]] = [
            ("/static/{name}", self.static, "GET"),
            ("/", self.start, "GET"),
            ("/index.json", self.start, "GET"),
            ("/upload", self.upload, "POST"),
            ("/file/{file}/choose", self.choose, "GET"),
            ("/file/{file}/covariance", self.covariance, "POST"),
            ("/file/{file}/forget", self.forget, "POST"),
            ("/file/{file}/export/{name}", self.export, "GET"),
            ("/file/{file}/quick.json", self.quick, "GET"),
            ("/jobs/{job}/stop", self.stop, "POST"),
        ]
        for path, page in (
            ("/file/{file}/columns", self.columns),
            ("/file/{file}/result", self.result),
            ("/file/{file}/compare", self.compare),
            ("/file/{file}/plan", self.plan),
            ("/calculator", self.calculator),
        ):
            shown += [(path, page, "GET"), (f"{path}.json", page, "GET")]
        routes = [Route(path, _guarded(page), methods=[method]) for path, page, method in shown]
        missing = _guarded(self.missing)
        return Starlette(routes=routes, exception_handlers={404: missing, 405: missing})

    async def missing(self, request: Request, why: Exception | None = None) -> Response:
        raise Refused("There is no such page here.", 404)

    async def static(self, request: Request) -> Response:
        text, kind = _static(request.path_params["name"])
        return Response(text, media_type=f"{kind}; charset=utf-8", headers={"cache-control": "no-cache"})

    # asking -----------------------------------------------------------------------------------------

    async def _answer(self, request: Request, file: HeldFile, kind: str, view: View, **options: Any) -> dict[str, Any]:
        """The answer to a question; the same question that is asked again is worked on once.

        Where a page takes long, one that says what is being done is shown instead; data and downloads are waited for.
        """
        key = json.dumps([kind, view.given, options, file.covariance], sort_keys=True, default=str)
        job = file.answers.get(key)
        if job is None or job.status == 409 or (job.done.is_set() and not job.folder.exists()):
            question = {"view": view.given, "options": options, "path": file.path, "name": file.name}
            job = self.jobs.submit(kind, {**question, "covariance": file.covariance})
            file.keep(key, job)
        patience = None if _as_data(request) or kind == "export" else _PATIENCE
        try:
            await asyncio.wait_for(asyncio.shield(job.done.wait()), patience)
        except TimeoutError:
            raise _Instead(_page("waiting.html.j2", 202, job=job)) from None
        return job.answer()

    async def _answer_or_question(
        self, request: Request, file: HeldFile, kind: str, view: View, **options: Any
    ) -> dict[str, Any]:
        """The answer; where the file leaves a question, the page that lets the visitor answer it is shown instead."""
        try:
            return await self._answer(request, file, kind, view, **options)
        except Refused as why:
            if _as_data(request) or "x-live" in request.headers or why.status != 422:
                raise
            back = f"{_at(file, 'columns')}?{urlencode(view.query())}"
            page = _page("problem.html.j2", why.status, problem=str(why), file=file, back=back)
            raise _Instead(page) from None

    # the way of a file ------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        uploads = [file for file in session.files.values() if file.folder is not None]
        sets = [_about_data_set(name) for name in shipped_names()]
        if _as_data(request):
            held = [{"id": file.id, "name": file.name, "size": file.size} for file in uploads]
            return _json({"schema": "scorebars/web/1", "files": held, "datasets": sets})
        return _page("start.html.j2", uploads=uploads, sets=sets, limits=self.limits)

    async def upload(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        self.sessions.require_room(session)
        path = await self._received(request)
        file = self.sessions.add(session, path)
        if _by_program(request):
            return _json({"id": file.id, "name": file.name, "columns": f"/file/{file.id}/columns"})
        return RedirectResponse(f"/file/{file.id}/columns", 303)

    async def _received(self, request: Request) -> Any:
        headers = request.headers
        try:
            return await received(
                request.stream(),
                headers.get("content-type", ""),
                headers.get("content-length"),
                self.sessions.new_folder(),
                self.limits,
            )
        except ClientDisconnect:
            raise Refused("The upload was cut off.", 400) from None

    async def covariance(self, request: Request) -> Response:
        file = _file(request)
        self.sessions.require_room(request.scope["session"])
        path = await self._received(request)
        if file.folder is None:  # a data set of the library: the matrix is held by the visitor
            file.folder = path.parent
        target = file.folder / f"cov-{path.name}"
        path.replace(target)
        if path.parent != file.folder:
            path.parent.rmdir()
        file.covariance = str(target)
        if _by_program(request):
            return _json({"name": path.name})
        return RedirectResponse(f"{_at(file, 'columns')}?errors=covariance", 303)

    async def forget(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        self.sessions.forget(session, request.path_params["file"])
        return RedirectResponse("/", 303)

    async def stop(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        back = "/"
        for file in [*session.files.values(), session.other]:
            for job in file.answers.values():
                if job.name == request.path_params["job"]:
                    await stop(job)
                    back = _at(file, "columns") if file.id else "/calculator"
        return RedirectResponse(back, 303)

    async def columns(self, request: Request) -> Response:
        file, view = _file(request), _view(request)
        found = await self._answer(request, file, "preview", view)
        if _as_data(request):
            return _json({"schema": "scorebars/columns/1", "file": file.name, **found})
        answer, values = questions.answered(View(found["view"]), found["classes"])
        unsure = not found["sure"] and answer == "none" and not view.is_whole
        answer = "" if unsure else answer
        return self._columns_page(file, found, request.query_params.get("errors", answer), values)

    def _columns_page(
        self, file: HeldFile, found: dict[str, Any], answer: str, values: Mapping[str, Any], problem: str = ""
    ) -> Response:
        guessed = View(found["view"])
        used = dict.fromkeys(forms.columns_of_errors(guessed), "errors, see below")
        return _page(
            "columns.html.j2", 422 if problem else 200,
            file=file, found=found, roles=forms.roles_of_columns(guessed), used=used, choices=forms.ROLES,
            knowledge=questions.KNOWLEDGE, answer=answer, values=values, problem=problem, view=guessed,
            covariance=file.covariance.rpartition("/cov-")[2],
        )  # fmt: skip

    async def choose(self, request: Request) -> Response:
        """From the form of columns and errors to the view it means."""
        file = _file(request)
        query = request.query_params.multi_items()
        try:
            view = forms.chosen_view(query)
        except (Refused, TableProblem) as why:
            found = await self._answer(request, file, "preview", View.of(query))
            values, page = forms.filled_in(query), {**found, "view": forms.chosen_roles(query)}
            return self._columns_page(file, page, values.get("errors", ""), values, for_page(str(why)))
        return RedirectResponse(f"{_at(file, 'result')}?{urlencode(view.query())}", 303)

    async def result(self, request: Request) -> Response:
        file, view = _file(request), _view(request)
        if _as_data(request):
            return _json((await self._answer(request, file, "numbers", view))["numbers"])
        found = await self._answer_or_question(request, file, "result", forms.with_suitable_metrics(view))
        whole = View(found["view"])
        return _page(
            "result.html.j2", file=file, found=found, view=whole, panel=forms.panel_of(found, whole), exports=EXPORTS,
            figures=FIGURES,
            at="result",
        )  # fmt: skip

    async def quick(self, request: Request) -> Response:
        asked = request.query_params
        options = {"model": asked.get("shown_model", ""), "metric": asked.get("shown_metric", "")}
        return _json(await self._answer(request, _file(request), "quick", _view(request), **options))

    async def compare(self, request: Request) -> Response:
        file, asked = _file(request), request.query_params
        options: dict[str, Any] = {name: asked.get(f"with_{name}", "") for name in ("metric", "against", "rope")}
        options["sampling"] = asked.get("with_sampling", "") != ""
        options["rope"] = forms.number_text(options["rope"], "Differences that do not matter")
        found = await self._answer_or_question(request, file, "compare", _view(request), **options)
        if _as_data(request):
            again = {name: found[name] for name in ("sentence", "command", "code")}
            return _json({**found["numbers"], **again})
        return _page(
            "compare.html.j2", file=file, found=found, view=View(found["view"]), options=options, at="compare",
            picture=curves.differences(found["numbers"]["models"]), metrics=forms.suitable_metrics(found["about"]),
        )  # fmt: skip

    async def plan(self, request: Request) -> Response:
        file, asked = _file(request), request.query_params
        names = ("goal", "size", "power", "level", "cost_label", "cost_repeat")
        options: dict[str, Any] = {name: asked.get(f"with_{name}", "") for name in names}
        for name in names[1:]:
            options[name] = forms.number_text(options[name], name.replace("_", " ").capitalize())
        options["models"] = asked.getlist("with_model")
        found = await self._answer_or_question(request, file, "plan", _view(request), **options)
        if _as_data(request):
            if found["best"] is None:
                raise Refused(found["lacks"], 422)
            best = {"schema": "scorebars/plan/1", **found["best"], "alternatives": found["alternatives"]}
            return _json({**best, **{name: found[name] for name in ("curve", "command", "code")}})
        return _page(
            "plan.html.j2", file=file, found=found, view=View(found["view"]), options=options, at="plan",
            picture=curves.of_plan(found["curve"]) if found["best"] else None,
        )  # fmt: skip

    async def export(self, request: Request) -> Response:
        file, name = _file(request), request.path_params["name"]
        ending = name.rpartition(".")[2]
        known = {known for known, _ in EXPORTS} | {f"{known}.{end}" for known, _ in FIGURES for end in ("svg", "png")}
        if name not in known:
            raise Refused("There is no such export.", 404)
        asked = request.query_params
        options = {"export": name, "model": asked.get("shown_model", ""), "metric": asked.get("shown_metric", "")}
        if name.startswith("forest"):
            options["metric"] = ""
        found = await self._answer(request, file, "export", _view(request), **options)
        body: bytes = base64.b64decode(found["picture"]) if "picture" in found else found["text"].encode()
        charset = "" if ending == "png" else "; charset=utf-8"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(body, media_type=f"{_ENDINGS[ending]}{charset}", headers=headers)

    # without a file ---------------------------------------------------------------------------------

    async def calculator(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        asked = dict(request.query_params)
        sheet = asked.get("sheet", "accuracy")
        if sheet not in calculator.SHEETS:
            raise Refused(f"There is no sheet {sheet!r}. There are: {', '.join(calculator.SHEETS)}.", 404)
        usual = calculator.DEFAULTS[sheet]
        values = usual | {name: text[:40] for name, text in asked.items() if name in usual}
        problem, found = "", {}
        try:
            found = await self._answer(request, session.other, "calculate", View(), sheet=sheet, **values)
        except Refused as why:
            if _as_data(request):
                raise
            problem = str(why)
        if _as_data(request):
            return _json({"schema": "scorebars/calculator/1", "sheet": sheet, "given": values, **found})
        picture = curves.of_plan(found["curve"]) if "curve" in found else None
        return _page(
            "calculator.html.j2", 422 if problem else 200, sheet=sheet, values=values, found=found, problem=problem,
            picture=picture,
        )  # fmt: skip


def _guarded(page: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    """A page whose refusals are answers in words."""

    async def shown(request: Request, *more: Any) -> Response:
        try:
            return await page(request, *more)
        except _Instead as other:
            return other.page
        except (Refused, TableProblem, ValueError) as why:
            status = getattr(why, "status", 422)
            text = for_page(str(why))
            if _as_data(request) or _by_program(request):
                return JSONResponse({"problem": text}, status)
            return _page("problem.html.j2", status, problem=text, file=None, back="/")

    return shown


def _view(request: Request) -> View:
    return View.of(request.query_params.multi_items())


def _as_data(request: Request) -> bool:
    """Whether the address asks for data instead of a page."""
    return request.url.path.endswith(".json")


def _by_program(request: Request) -> bool:
    """Whether a program sent this that wants to know what became of it, and not the next page."""
    return "application/json" in request.headers.get("accept", "")


def _file(request: Request) -> HeldFile:
    session: Session = request.scope["session"]
    return session.file(request.path_params["file"])


def _at(file: HeldFile, page: str) -> str:
    return f"/file/{quote(file.id, safe=':')}/{page}"


@cache
def _about_data_set(name: str) -> dict[str, Any]:
    data = getattr(sb.datasets, f"load_{name}")()
    facts = {"labels": data.n, "unit": data.units, "models": len(data.predictions), "errors": data.yerr is not None}
    return {"name": name, "id": f"{PREFIX}{name}", "description": data.description, **facts}
