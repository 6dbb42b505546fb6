import casemate as cm

if __name__ == "__main__":
    cm.sweep(cm.Study(programs="gups", designs="none", limit="10K"))
