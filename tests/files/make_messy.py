"""Small files as scientists have them, each with what must be understood, or what must be asked.

``python tests/files/make_messy.py FOLDER`` writes them all, to be looked at.
"""

import gzip
import io
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Y = [5.2, 6.1, 7.45, 9.03, 4.81]
E = [0.2, 0.1, 0.45, 0.3, 0.25]
A = [5.3, 6.0, 7.1, 9.5, 4.6]
B = [5.0, 6.4, 7.7, 8.8, 5.1]
NAMES = ["He", "Li", "Be", "B", "C"]
CLASSES = ["spiral", "merger", "spiral", "elliptical", "spiral"]
SEEN = ["spiral", "spiral", "spiral", "elliptical", "merger"]


@dataclass(frozen=True)
class Messy:
    """A file, the options it is read with, and what must come of it: numbers, or a question."""

    name: str
    content: Any
    models: dict[str, list] = field(default_factory=dict)
    """Model -> predictions that must be understood; empty where a question must be asked."""
    y: list = field(default_factory=lambda: Y)
    yerr: Any = field(default_factory=lambda: E)
    says: str = ""
    """What the line about the file must contain."""
    asks: str = ""
    """What the question must contain."""
    options: dict = field(default_factory=dict)
    omitted: int = 0

    def write(self, folder):
        path = Path(folder) / self.name
        content = self.content(folder) if callable(self.content) else self.content
        if isinstance(content, dict):  # several files
            path.mkdir(exist_ok=True)
            for name, text in content.items():
                (path / name).write_text(text, encoding="utf-8")
        elif content is not None:
            path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path


def rows(*columns, sep=","):
    return "".join(sep.join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def comma(values, form="{}"):
    return [form.format(value).replace(".", ",") for value in values]


def table(header, *columns, sep=","):
    return header + "\n" + rows(*columns, sep=sep)


def zipped(name, text):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(name, text)
    return sink.getvalue()


def xlsx(sheets):
    """A small workbook, written by hand: texts inline, numbers as they are."""
    cells = "ABCDEFGH"

    def sheet(table):
        lines = []
        for r, row in enumerate(table, 1):
            filled = [
                f'<c r="{cells[k]}{r}" t="inlineStr"><is><t>{value}</t></is></c>'
                if isinstance(value, str)
                else f'<c r="{cells[k]}{r}"><v>{value}</v></c>'
                for k, value in enumerate(row)
                if value != ""
            ]
            lines.append(f'<row r="{r}">{"".join(filled)}</row>')
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        return f'<?xml version="1.0"?><worksheet xmlns="{space}"><sheetData>{"".join(lines)}</sheetData></worksheet>'

    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    form = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    names = list(sheets)
    listed = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(names, 1))
    related = "".join(
        f'<Relationship Id="rId{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(names) + 1)
    )
    parts = {
        "[Content_Types].xml": f'<?xml version="1.0"?><Types xmlns="{kinds}">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{form}.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{form}.worksheet+xml"/>'
            for k in range(1, len(names) + 1)
        )
        + "</Types>",
        "_rels/.rels": f'<?xml version="1.0"?><Relationships xmlns="{package}"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": '<?xml version="1.0"?><workbook xmlns='
        f'"http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<?xml version="1.0"?><Relationships xmlns="{package}">{related}</Relationships>',
    }
    parts |= {f"xl/worksheets/sheet{k}.xml": sheet(sheets[name]) for k, name in enumerate(names, 1)}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return sink.getvalue()


def ods(table):
    """A small OpenDocument table, written by hand."""
    lines = []
    for row in table:
        filled = [
            f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
            if isinstance(value, str)
            else f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'
            for value in row
        ]
        lines.append(f"<table:table-row>{''.join(filled)}</table:table-row>")
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="Data">{"".join(lines)}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return sink.getvalue()


def netcdf(folder):
    import xarray

    sure = {"standard_name": "sea_water_temperature", "ancillary_variables": "flag spread", "units": "K"}
    data = {
        "measured": ("station", Y, sure),
        "flag": ("station", [0] * 5, {"standard_name": "sea_water_temperature status_flag"}),
        "spread": ("station", E, {"standard_name": "sea_water_temperature standard_error", "units": "K"}),
        "pred_a": ("station", A, {"units": "K"}),
    }
    made = xarray.Dataset(data, coords={"lat": ("station", [50.0, 51, 52, 53, 54])})
    made.to_netcdf(Path(folder) / "cf.nc")


def ecsv(folder):
    from astropy.table import Column, Table

    columns = [
        Column(Y, name="vmag", unit="mag", meta={"uncertainty": "vtol"}),
        Column(E, name="vtol", unit="mag"),
        Column(A, name="pred_a", unit="mag"),
    ]
    Table(columns).write(Path(folder) / "meta.ecsv", format="ascii.ecsv")


def covariance(folder):
    n = len(Y)
    lines = [" ".join(str(E[i] ** 2 if i == j else 0.001) for j in range(n)) for i in range(n)]
    (Path(folder) / "cov.txt").write_text("\n".join(lines) + "\n")
    return table("y,pred_a", Y, A)


BOTH = {"a": A, "b": B}
INLINE = [f"{y} ± {e}" for y, e in zip(Y, E, strict=True)]
BRACKETS = ["5.20(20)", "6.10(10)", "7.45(45)", "9.03(30)", "4.81(25)"]
LONG = [(name, model, y, e, p) for model, ps in BOTH.items() for name, y, e, p in zip(NAMES, Y, E, ps, strict=True)]

FILES = [
    # names ---------------------------------------------------------------------------------------
    Messy("plain.csv", table("y,y_err,pred_a,pred_b", Y, E, A, B), BOTH, says="labels y; errors y_err; predictions pred_a, pred_b"),
    Messy("spoken.csv", table("Measured value,Uncertainty,Predicted", Y, E, A), {"Predicted": A}, says="errors Uncertainty"),
    Messy("true.csv", table("True,Predicted", Y, A), {"Predicted": A}, yerr=None, says="labels True; no errors"),
    Messy("exp.csv", table("exp,exp_std,calc", Y, E, A), {"calc": A}, says="labels exp; errors exp_std; predictions calc"),
    Messy("gaff.csv", table("compound,expt,expt_err,gaff", NAMES, Y, E, A), {"gaff": A}, says="predictions gaff (the columns left over)"),
    Messy("models.csv", table("y,y_err,model_a,model_b", Y, E, A, B), {"model_a": A, "model_b": B}),
    Messy("mass.csv", table("mass,mass_err,mass_pred_rf,mass_pred_nn", Y, E, A, B), {"rf": A, "nn": B}, says="labels mass"),
    Messy("left.csv", table("y,y_err,forest,kernel", Y, E, A, B), {"forest": A, "kernel": B}, says="(the columns left over)"),
    Messy("far.csv", table("y,y_err,charge,forest", Y, E, [200, 300, 250, 210, 280], A), asks="charge do not look like the labels: say --pred"),
    Messy("feature.csv", table("y,y_err,pred_a,charge", Y, E, A, [200, 300, 250, 210, 280]), {"a": A}),
    Messy("sigma.csv", table("sigma_y,y,pred", E, Y, A), {"pred": A}, says="errors sigma_y"),
    Messy("pm.csv", table("value,±,prediction", Y, E, A), {"prediction": A}, says="errors ±"),
    Messy("sd.csv", table("target,sd,yhat", Y, E, A), {"yhat": A}, says="errors sd"),
    Messy("unc.csv", table("dG_exp,unc_dG,dG_calc", Y, E, A), {"dG_calc": A}, says="labels dG_exp; errors unc_dG"),
    Messy("odd_error.csv", table("y,gauge_err,pred", Y, E, A), asks="is 'gauge_err' the error of the labels 'y'? Say --yerr gauge_err"),
    Messy("odd_error_none.csv", table("y,gauge_err,pred", Y, E, A), {"pred": A}, yerr=None, options={"yerr": "none"}),
    Messy("stat.csv", table("y,y_err_stat,pred", Y, E, A), {"pred": A}, says="errors y_err_stat"),
    Messy("total.csv", table("y,y_err_stat,y_err_total,pred", Y, [e / 2 for e in E], E, A), {"pred": A}, says="errors y_err_total; predictions pred; not used: y_err_stat"),
    Messy("parts.csv", table("y,y_err_stat,y_err_sys,pred", Y, E, E, A), asks="--yerr y_err_stat+y_err_sys adds them in quadrature"),
    Messy("added.csv", table("y,y_err_stat,y_err_sys,pred", Y, E, E, A), {"pred": A}, yerr=[e * 2**0.5 for e in E], options={"yerr": "y_err_stat+y_err_sys"}, says="added in quadrature"),
    Messy("percent.csv", table("y,y_err_pct,pred", Y, [2, 3, 1, 4, 5], A), {"pred": A}, yerr=[y * q / 100 for y, q in zip(Y, [2, 3, 1, 4, 5], strict=True)], says="(percent of the label)"),
    Messy("percent_cells.csv", table("y,y_err,pred", Y, ["2 %", "3 %", "1%", "4%", "5%"], A), {"pred": A}, yerr=[y * q / 100 for y, q in zip(Y, [2, 3, 1, 4, 5], strict=True)]),
    Messy("percent_option.csv", table("y,pred", Y, A), {"pred": A}, yerr=[y * 0.05 for y in Y], options={"yerr_percent": "5"}),
    Messy("relative.csv", table("y,y_rel_err,pred", Y, [0.02] * 5, A), asks="is 'y_rel_err' a fraction or in percent of the labels?"),
    Messy("two_labels.csv", table("exp,target,pred", Y, B, A), asks="which column holds the labels? Several columns may be labels (target, exp)"),
    Messy("two_errors.csv", table("y,sigma,unc,pred", Y, E, E, A), asks="which column holds the errors of the labels? These may: sigma, unc"),
    Messy("prediction_error.csv", table("y,pred_a,pred_a_err", Y, A, E), {"a": A}, yerr=None, says="no errors (labels taken as exact); predictions pred_a with spread pred_a_err"),
    # forecasts -----------------------------------------------------------------------------------
    Messy("forecast.csv", table("y,y_err,pred_a,pred_a_std,pred_b,pred_b_sigma", Y, E, A, E, B, E), BOTH, says="predictions pred_a with spread pred_a_std, pred_b with spread pred_b_sigma"),
    Messy("forecast_and_point.csv", table("y,y_err,pred_a,pred_a_std,pred_b", Y, E, A, E, B), BOTH, says="b has none: name models with"),
    Messy("forecast_columns.csv", table("y,y_err,mu,width", Y, E, A, E), {"mu": A}, options={"pred": "mu", "std": "width"}, says="predictions mu with spread width"),
    Messy("forecast_left.csv", table("y,y_err,pred_a,pred_a_std", Y, E, A, [0, *E[1:]]), {"a": A}, options={"std": "none"}, says="predictions pred_a"),
    Messy("forecast_zero.csv", table("y,y_err,pred_a,pred_a_std", Y, E, A, [0.2, 0, 0.1, -1, 0.3]), asks="column 'pred_a_std' is not positive in row 2 (line 3 of forecast_zero.csv): 0.0, and in 1 more row"),
    Messy("forecast_gap.csv", table("y,y_err,pred_a,pred_a_std", Y, E, A, [0.2, "", 0.1, 0.1, 0.3]), asks="column 'pred_a_std' has no value in row 2 (line 3 of forecast_gap.csv)"),
    Messy("forecast_text.csv", table("y,y_err,pred_a,pred_a_std", Y, E, A, [0.2, "wide", 0.1, 0.1, 0.3]), asks="column 'pred_a_std' holds no number in row 2 (line 3 of forecast_text.csv): 'wide'"),
    Messy("forecast_two.csv", table("y,y_err,pred_a,pred_a_std,pred_a_err", Y, E, A, E, E), asks="which column holds the spread of the prediction 'pred_a'? These may: pred_a_std, pred_a_err"),
    Messy("forecast_too_few.csv", table("y,y_err,pred_a,pred_b,w_a", Y, E, A, B, E), asks="--std names 1 columns for 2 columns of predictions", options={"std": "w_a"}),
    Messy("forecast_units.csv", table("y (m),y_err (m),pred_a (m),pred_a_std (cm)", Y, E, A, E), asks="is in cm but 'y (m)' is in m"),
    Messy("german_forecast.csv", table("y;y_err;pred_a;pred_a_std", comma(Y), comma(E), comma(A), comma(E), sep=";"), {"a": A}, says="pred_a with spread pred_a_std"),
    Messy("long_forecast.csv", table("id,model,y,y_err,pred,pred_std", *zip(*LONG, strict=True), E + E), BOTH, says="predictions pred with spread pred_std; models by model"),
    Messy("ensemble.csv", table("y,y_err,pred_a_1,pred_a_2,pred_a_3", Y, E, A, A, A), {"a": A}, says="ensemble a: the 3 members pred_a_1 to pred_a_3"),
    Messy("ensemble_zero.csv", table("y,y_err,pred_a_00,pred_a_01,pred_a_02", Y, E, A, A, A), {"a": A}, says="ensemble a: the 3 members"),
    Messy("ensemble_and_model.csv", table("y,y_err,pred_a_1,pred_a_2,pred_a_3,pred_b", Y, E, A, A, A, B), {"b": B, "a": A}, says="predictions pred_b; ensemble a"),
    Messy("ensemble_options.csv", table("y,y_err,run_1,run_2", Y, E, A, A), {"run": A}, options={"members": "run_*"}, says="ensemble run: the 2 members run_1 to run_2"),
    Messy("two_runs.csv", table("y,y_err,pred_a_1,pred_a_2", Y, E, A, B), {"a_1": A, "a_2": B}),
    Messy("not_members.csv", table("y,y_err,pred_a_1,pred_a_2,pred_a_3", Y, E, A, B, B), {"a_1": A, "a_2": B, "a_3": B}, options={"members": "none"}),
    Messy("numbered.csv", table("y,y_err,pred_1,pred_2,pred_3", Y, E, A, B, B), {"1": A, "2": B, "3": B}),
    Messy("ensemble_missing.csv", table("y,y_err,pred_a_1,pred_a_2,pred_a_4", Y, E, A, B, B), asks="the members of one ensemble? Number 3 is not there. Say --members 'pred_a_*' if they are"),
    Messy("ensemble_gap.csv", table("y,y_err,pred_a_1,pred_a_2,pred_a_3", Y, E, A, ["", *B[1:]], B), asks="column 'pred_a_2' has no value in row 1 (line 2 of ensemble_gap.csv)"),
    Messy("ensemble_of_one.csv", table("y,y_err,run_1", Y, E, A), options={"members": "run_1"}, asks="an ensemble has at least 2 members, this is run_1 alone"),
Messy("mean_std.csv", table("y,mean,std", Y, A, E), asks="is 'std' the error of the labels 'y', or that of 'mean', which it follows? Say --yerr std"),
    Messy("y_std.csv", table("y_true,y_pred,y_std", Y, A, E), asks="is 'y_std' the error of the labels 'y_true', or that of 'y_pred'"),
    Messy("residuals.csv", table("y,pred,error", Y, A, E), asks="is 'error' the error of the labels 'y', or that of 'pred'"),
    Messy("interval.csv", table("y,ci_low,ci_high,pred", Y, A, B, A), asks="is 'ci_low' the error of the labels 'y'?"),
    Messy("variance.csv", table("y,variance,pred", Y, E, A), asks="is 'variance' the error of the labels 'y'?"),
    Messy("two_sigma.csv", table("y,y_err_2sigma,pred", Y, E, A), asks="'y_err_2sigma' looks wider than one standard deviation"),
    Messy("scatter_of_n.csv", table("y,sd,n,pred", Y, E, [3] * 5, A), asks="or the scatter of the 'n' measurements behind each? Say --yerr sd"),
    Messy("whole_errors.csv", table("y,y_err,pred", [10, 20, 30, 41, 50], [1] * 5, [11, 19, 33, 40, 52]), {"pred": [11.0, 19, 33, 40, 52]}, y=[10.0, 20, 30, 41, 50], yerr=[1.0] * 5),
    Messy("placeholder.csv", table("y,y_err,pred", [5.2, -999, 7.45], [0.2] * 3, A[:3]), {"pred": A[:3]}, y=[5.2, -999, 7.45], yerr=[0.2] * 3, says="holds -999 once: where it stands for a missing value"),
    Messy("row_names.txt", "y y_err pred\n" + rows(NAMES, Y, E, A, sep=" "), {"pred": A}),
    # layout --------------------------------------------------------------------------------------
    Messy("blanks.txt", "y     y_err  pred_a\n" + rows(Y, E, A, sep="   "), {"a": A}, says="separated by blanks"),
    Messy("numpy.dat", "# made with savetxt\n# y y_err pred_a\n" + rows(Y, E, A, sep=" "), {"a": A}),
    Messy("spaced_names.txt", "Measured value   Uncertainty   Predicted\n" + rows(Y, E, A, sep="     "), {"Predicted": A}),
    Messy("german.csv", table("y;y_err;pred_a", comma(Y), comma(E), comma(A), sep=";"), {"a": A}, says="decimal commas"),
    Messy("german_blanks.txt", table("y y_err pred_a", comma(Y), comma(E), comma(A), sep=" "), {"a": A}, says="decimal commas"),
    Messy("german_thousands.csv", "y;y_err;pred_a\n1.234,5;2,5;1.240\n2.000;3,5;2.010\n3.456,7;1,5;3.450\n", {"a": [1240, 2010, 3450]}, y=[1234.5, 2000, 3456.7], yerr=[2.5, 3.5, 1.5]),
    Messy("thousands.csv", 'y,y_err,pred_a\n"1,234.5",2.5,"1,240"\n"2,000",3.5,"2,010"\n987.1,1.5,990\n', {"a": [1240, 2010, 990]}, y=[1234.5, 2000, 987.1], yerr=[2.5, 3.5, 1.5]),
    Messy("open_commas.csv", "y;y_err;pred_a\n1,234;2;1,240\n2,000;3;2,010\n", asks="does the comma part thousands, or is it a decimal comma? Say --decimal"),
    Messy("told_commas.csv", "y;y_err;pred_a\n1,234;2;1,240\n2,000;3;2,010\n", {"a": [1.24, 2.01]}, y=[1.234, 2.0], yerr=[2, 3], options={"decimal": ",", "task": "regression"}),
    Messy("both_marks.csv", "y;y_err;pred_a\n1,25;0.25;1.5\n2,5;0.75;2.25\n", asks="say --decimal . or --decimal ,"),
    Messy("swiss.csv", "y;y_err;pred_a\n1'234.5;2.5;1'240\n2'000;3.5;2'010\n", {"a": [1240, 2010]}, y=[1234.5, 2000], yerr=[2.5, 3.5]),
    Messy("latin.csv", table("y [µm],Element,y_err [µm],pred_ä [µm]", Y, NAMES, E, A).encode("latin-1", "replace"), {"ä": A}, says="Latin-1"),
    Messy("utf16.csv", table("y,y_err,pred_a", Y, E, A).encode("utf-16"), {"a": A}, says="UTF-16"),
    Messy("utf16_bare.csv", table("y,y_err,pred_a", Y, E, A).encode("utf-16-le"), {"a": A}, says="UTF-16-LE"),
    Messy("bom.csv", "\ufeff" + table("y,y_err,pred_a", Y, E, A), {"a": A}),
    Messy("titles.csv", "Table 3: masses, measured in 2020\nby A. Nobody\n\n" + table("y,y_err,pred_a", Y, E, A), {"a": A}, says="2 title lines skipped"),
    Messy("title_cells.csv", "Table 3,masses,2020 run\n" + table("y,y_err,pred_a", Y, E, A), {"a": A}, says="1 title line skipped"),
    Messy("skipped.csv", "1,2,3\n4,5,6\n" + table("y,y_err,pred_a", Y, E, A), {"a": A}, options={"skip_rows": 2}),
    Messy("unit_row.csv", "y,y_err,pred_a\nMeV,MeV,MeV\n" + rows(Y, E, A), {"a": A}, says="labels y (MeV)"),
    Messy("unit_brackets.csv", "y,y_err,pred_a\n[kJ/mol],[kJ/mol],[kJ/mol]\n" + rows(Y, E, A), {"a": A}, says="(kJ/mol)"),
    Messy("unit_names.csv", table("mass (MeV),mass_err (MeV),pred (MeV)", Y, E, A), {"pred": A}, says="labels mass (MeV)"),
    Messy("unit_mismatch.csv", table("mass (MeV),mass_err (keV),pred (MeV)", Y, E, A), asks="is in keV but 'mass (MeV)' is in MeV"),
    Messy("comments.txt", "y y_err pred_a\n5.2 0.2 5.3\n# a pause\n6.1 0.1 6.0\n", {"a": [5.3, 6.0]}, y=[5.2, 6.1], yerr=[0.2, 0.1]),
    Messy("numbers_only.csv", rows(Y, E, A), asks="starts with numbers, not with column names"),
    Messy("ragged.csv", "y,y_err,pred\n5.2,0.2,5.3\n6.1,0.1,6.0,7\n7.5,0.1,7\n", asks="line 3 of ragged.csv has 4 cells, but there are 3 column names"),
    Messy("bars.txt", table("y|y_err|pred_a", Y, E, A, sep="|"), {"a": A}, says="separated by bars"),
    Messy("tabs.tsv", table("y\ty_err\tpred_a", Y, E, A, sep="\t"), {"a": A}),
    Messy("data.csv.gz", gzip.compress(table("y,y_err,pred_a", Y, E, A).encode()), {"a": A}),
    Messy("data.zip", zipped("inside.csv", table("y,y_err,pred_a", Y, E, A)), {"a": A}),
    Messy("parts", {"1.csv": table("y,y_err,pred_a", Y[:2], E[:2], A[:2]), "2.csv": table("y,y_err,pred_a", Y[2:], E[2:], A[2:])}, {"a": A}, says="2 files"),
    # cells ---------------------------------------------------------------------------------------
    Messy("inline.csv", table("y,pred_a", INLINE, A), {"a": A}, says="errors in the cells of y"),
    Messy("inline_blanks.txt", "y   pred_a\n" + rows(INLINE, A, sep="   "), {"a": A}, says="errors in the cells of y"),
    Messy("plus_minus.csv", table("y,pred_a", [t.replace("±", "+/-") for t in INLINE], A), {"a": A}),
    Messy("brackets.csv", table("y,pred_a", BRACKETS, A), {"a": A}, says="errors in the cells of y"),
    Messy("asymmetric.csv", "y,pred_a\n5.2 +0.4 -0.2,5.3\n6.1 +0.2 -0.1,6.0\n", {"a": [5.3, 6.0]}, y=[5.2, 6.1], yerr=[[0.2, 0.1], [0.4, 0.2]]),
    Messy("inline_twice.csv", table("y,y_err,pred_a", INLINE, E, A), asks="say --yerr cells or --yerr y_err"),
    Messy("inline_gap.csv", "y,pred_a\n5.2 ± 0.2,5.3\n6.1,6.0\n", asks="column 'y' has no error in its cell in row 2"),
    Messy("marks.csv", "y,y_err,pred_a\n5.2,0.2,5.3\n-,0.1,6.0\n--,0.2,1\nn.d.,0.3,1\nNA,0.3,1\n7.45,0.45,7.1\n", {"a": [5.3, 7.1]}, y=[5.2, 7.45], yerr=[0.2, 0.45], options={"nan_policy": "omit"}, omitted=4),
    Messy("marks_asked.csv", "y,y_err,pred_a\n5.2,0.2,5.3\nn.d.,0.1,6.0\n7.45,0.45,7.1\n", asks="column 'y' has no value in row 2 (line 3 of marks_asked.csv)"),
    Messy("limit_predicted.csv", "y,y_err,pred_a\n5.2,0.2,5.3\n0.5,0.1,<0.4\n7.45,0.45,7.1\n", asks="column 'pred_a' holds a limit in row 2 (line 3 of limit_predicted.csv): '<0.4'"),
    Messy("flag_odd.csv", table("masse,masseerr1,masseerr2,masselim,pred", Y, E, [-e for e in E], [0, 0, 7, 0, 0], A), asks="column 'masselim' looks like marks of limits of 'masse'"),
    Messy("nasa.csv", table("pl_masse,pl_masseerr1,pl_masseerr2,pred", Y, [2 * e for e in E], [-e for e in E], A), {"pred": A}, yerr=[E, [2 * e for e in E]], says="lower and upper errors pl_masseerr2, pl_masseerr1"),
    Messy("nasa_open.csv", table("pl_masse,pl_masseerr1,pl_masseerr2,pred", Y, E, E, A), asks="are lower errors? Say --yerr LOWER,UPPER"),
    Messy("typing.csv", "y,y_err,pred_a\n5.2,0.2,5.3\n6.1,0.l,6.0\n7.45,0.45,7.1\n9.03,0.3,9.5\n", asks="column 'y_err' holds no number in row 2 (line 3 of typing.csv): '0.l'"),
    Messy("minus.csv", "y,y_err,pred_a\n\u22125.2,0.2,\u22125.3\n6.1,0.1,6.0\n", {"a": [-5.3, 6.0]}, y=[-5.2, 6.1], yerr=[0.2, 0.1]),
Messy("unit_cells.csv", table("y,y_err,pred", [f"{y} MeV" for y in Y], [f"{e} MeV" for e in E], [f"{a} MeV" for a in A]), {"pred": A}, says="labels y"),
    Messy("mixed_units.csv", "y,y_err,pred\n5.2 MeV,0.2,5.3\n6100 keV,0.1,6.0\n7.45 MeV,0.1,7.4\n", asks="column 'y' holds no number in row 1"),
    Messy("starred.csv", table("y,y_err,pred", [f"{y}*" for y in Y], E, A), asks="column 'y' holds no number in row 1 (line 2 of starred.csv): '5.2*'"),
    Messy("empty_errors.csv", table("y,y_err,pred", Y, [""] * 5, A), asks="column 'y_err' has no value in row 1"),
    Messy("zero_one.csv", table("y,pred", [0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]), {"pred": [0, 1, 0, 0]}, y=[0, 1, 1, 0], yerr=None, says="taken as classes"),
    Messy("bounds.csv", table("y,y_err,yhat,yhat_lower,yhat_upper", Y, E, A, B, B), {"yhat": A}),
    Messy("quoted_units.csv", table('"y, MeV","y_err, MeV","pred, MeV"', Y, E, A), {"pred": A}, says="labels y, MeV"),
    Messy("commas_in_names.txt", "name y y_err pred\n" + rows([f"{n},x" for n in NAMES], Y, E, A, sep=" "), {"pred": A}),
    # workbooks -----------------------------------------------------------------------------------
    Messy("book.xlsx", xlsx({"Sheet1": [["y", "y_err", "pred_a"], *map(list, zip(Y, E, A, strict=True))]}), {"a": A}, says="sheet Sheet1"),
    Messy("titled.xlsx", xlsx({"notes": [["read me"]], "data": [["Masses of 2020"], [], ["y", "y_err", "pred_a"], ["MeV", "MeV", "MeV"], *map(list, zip(Y, E, A, strict=True))]}), {"a": A}, says="sheet data"),
    Messy("two_sheets.xlsx", xlsx({"one": [["y", "pred"], *map(list, zip(Y, A, strict=True))], "two": [["y", "pred"], *map(list, zip(Y, B, strict=True))]}), asks="tables in 2 sheets (one, two): choose with --sheet NAME"),
    Messy("chosen_sheet.xlsx", xlsx({"one": [["y", "pred"], *map(list, zip(Y, A, strict=True))], "two": [["y", "pred"], *map(list, zip(Y, B, strict=True))]}), {"pred": B}, yerr=None, options={"sheet": "two"}),
    Messy("book.ods", ods([["y", "y_err", "pred_a"], *map(list, zip(Y, E, A, strict=True))]), {"a": A}, says="sheet Data"),
    # metadata ------------------------------------------------------------------------------------
    Messy("cf.nc", netcdf, {"a": A}, says="errors spread"),
    Messy("meta.ecsv", ecsv, {"a": A}, says="labels vmag (mag); errors vtol"),
    # long tables, repeats, votes -----------------------------------------------------------------
    Messy("long.csv", table("id,model,y,y_err,prediction", *zip(*LONG, strict=True)), BOTH, says="models by model"),
    Messy("long_shuffled.csv", table("id,model,y,y_err,prediction", *zip(*LONG[:5], *reversed(LONG[5:]), strict=True)), BOTH),
    Messy("long_named.csv", table("star,run,y,y_err,prediction", *zip(*LONG, strict=True)), BOTH, options={"model": "run", "id": "star"}),
    Messy("long_gap.csv", table("id,model,y,y_err,prediction", *zip(*LONG[:-1], strict=True)), asks="column 'prediction of b' has no value"),
    Messy("repeated_id.csv", table("id,y,y_err,pred", ["He", "He", "Be", "B", "C"], Y, E, A), asks="id 'He' stands in 2 rows. In a long table say which column names the model: --model COLUMN"),
    Messy("repeated_rows.csv", "id,y,pred\nHe,5.1,5.3\nHe,5.3,5.3\nLi,6.0,6.2\nLi,6.4,6.2\n", {"pred": [5.3, 6.2]}, y=None, yerr=("repeats", [[5.1, 5.3], [6.0, 6.4]]), options={"repeats": "rows"}),
    Messy("repeats.csv", table("y_1,y_2,pred_a", Y, [y + 0.2 for y in Y], A), {"a": A}, y=None, yerr=("repeats", [[y, y + 0.2] for y in Y]), says="means of the repeats y_1, y_2"),
    Messy("repeats_option.csv", table("m1,m2,pred_a", Y, [y + 0.2 for y in Y], A), {"a": A}, y=None, yerr=("repeats", [[y, y + 0.2] for y in Y]), options={"repeats": "m*"}),
    Messy("cov.csv", covariance, {"a": A}, yerr=("cov", [[E[i] ** 2 if i == j else 0.001 for j in range(5)] for i in range(5)]), options={"cov": "cov.txt"}, says="covariance of the labels from"),
    # classes -------------------------------------------------------------------------------------
    Messy("classes.csv", table("label,q,pred", CLASSES, [0.1] * 5, SEEN), {"pred": SEEN}, y=CLASSES, yerr=[0.1] * 5, says="probability of a wrong label q"),
    Messy("integers.csv", table("y,pred", [0, 1, 1, 2, 0], [0, 1, 2, 2, 0]), {"pred": [0, 1, 2, 2, 0]}, y=[0, 1, 1, 2, 0], yerr=None, says="taken as classes"),
    Messy("integers_told.csv", table("y,pred", [0, 1, 1, 2, 0], [0, 1, 2, 2, 0]), {"pred": [0.0, 1, 2, 2, 0]}, y=[0.0, 1, 1, 2, 0], yerr=None, options={"task": "regression"}),
    Messy("probabilities.csv", table("y,pred", [0, 1, 1, 0, 1], [0.2, 0.9, 0.6, 0.4, 0.7]), {"pred": [0.2, 0.9, 0.6, 0.4, 0.7]}, y=[0, 1, 1, 0, 1], yerr=None, says="probabilities of class 1"),
    Messy("votes.csv", table("votes_spiral,votes_merger,pred", [5, 1, 4, 0, 3], [0, 4, 1, 5, 2], ["spiral", "merger", "merger", "merger", "spiral"]), {"pred": ["spiral", "merger", "merger", "merger", "spiral"]}, y=None, yerr=("votes", [[5, 0], [1, 4], [4, 1], [0, 5], [3, 2]], ["spiral", "merger"]), says="majority of the votes"),
    Messy("raters.csv", table("r1,r2,r3,pred", ["a", "b", "a"], ["a", "b", "b"], ["a", "a", "a"], ["a", "b", "b"]), {"pred": ["a", "b", "b"]}, y=None, yerr=("votes", [[3, 0], [1, 2], [2, 1]], ["a", "b"]), options={"votes": "r*"}),
    Messy("shares.csv", table("p_a,p_b,pred", [0.9, 0.2, 0.6], [0.1, 0.8, 0.4], ["a", "b", "b"]), {"pred": ["a", "b", "b"]}, y=None, yerr=("shares", [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["a", "b"]), options={"probabilities": "p_*"}),
]  # fmt: skip

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for case in FILES:
        print(case.write(target))
